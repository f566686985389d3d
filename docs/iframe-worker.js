// A browser starts no worker for a page that was opened from a file. Search then runs in a frame,
// under the name by which the theme's search asks for that.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    this.ready = new Promise((resolve) => { frame.onload = resolve; });
    const own = `postMessage = (data) => parent.postMessage(data, "*");
      importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((done) => {
        const script = document.createElement("script");
        Object.assign(script, { src, onload: done });
        document.body.append(script);
      })), Promise.resolve());
      document.currentScript.remove();`;
    frame.srcdoc = `<!doctype html><body><script>${own}</script><script src="${url}"></script>`;
    document.body.append(frame);
    this.frame = frame;
    window.addEventListener("message", (event) => {
      if (event.source === frame.contentWindow)
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
    });
  }
  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }
}
if (location.protocol === "file:") Object.assign(window, { IFrameWorker, Worker: IFrameWorker });
