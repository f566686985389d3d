"use strict";
const $ = (id) => document.getElementById(id), root = document.documentElement;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const MOST_DOTS = 300, FLIGHT = 700, SLOW_LAYOUT = 1500;
let graph = null, state = null, before = null, settle = 0, dots = [], colours = {}, stale = true;
let X = [], Y = [], view = { scale: 1, left: 0, top: 0, side: 1 };

const number = (n) => n === null || n === undefined ? "–"
  : Math.abs(n) >= 100 ? Math.round(n).toLocaleString("en") : Number(n.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 6 });
const named = (rank) => rank < 0 ? "coordinator" : `agent ${rank}`;
const list = (ranks) => ranks.slice(0, 12).map(named).join(", ") + (ranks.length > 12 ? ` and ${ranks.length - 12} more` : "");
const element = (tag, text, css) => Object.assign(document.createElement(tag), { textContent: text, className: css || "" });
const colour = (name) => colours[name] ??= getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const ofKind = (kind) => colour(`s${graph.kinds.indexOf(kind) % 7}`);

// --- where everybody stands: a disc, a ring, or by forces ------------------------------------------
function layOut() {
  const n = graph.agents, near = Array.from({ length: n }, () => []);
  const between = graph.links.filter(([, b]) => b >= 0);
  between.forEach(([a, b]) => { near[a].push(b); near[b].push(a); });
  X = new Float64Array(n + 1); Y = new Float64Array(n + 1);  // the coordinator is last, in the middle
  const order = [], seen = new Uint8Array(n);
  for (let first = 0; first < n; first++) {
    const ahead = [first];
    while (ahead.length) {
      const a = ahead.pop();
      if (!seen[a]) { seen[a] = 1; order.push(a); ahead.push(...[...near[a]].reverse()); }
    }
  }
  const ring = between.length ? between.length >= .4 * n * (n - 1) || near.every((b) => b.length === 2) : n <= 40;
  order.forEach((a, place) => {
    const turn = ring ? 2 * Math.PI * place / n : place * 2.39996;
    const far = ring ? 1 : Math.sqrt(.06 + .94 * (place + .5) / n);
    X[a] = far * Math.sin(turn); Y[a] = -far * Math.cos(turn);
  });
  settle = ring || !between.length || n > SLOW_LAYOUT ? 0 : 150;
}
function step() {  // Fruchterman and Reingold 1991, drawn to the middle so that parts stay together
  const n = graph.agents, k2 = 2.2 / n, k = Math.sqrt(k2), heat = .12 * settle / 150 + .004;
  const dx = new Float64Array(n), dy = new Float64Array(n);
  for (let a = 0; a < n; a++) for (let b = 0; b < a; b++) {
    const x = X[a] - X[b], y = Y[a] - Y[b], push = k2 / (x * x + y * y + 1e-6);
    dx[a] += x * push; dy[a] += y * push; dx[b] -= x * push; dy[b] -= y * push;
  }
  for (const [a, b] of graph.links) {
    if (b < 0) continue;
    const x = X[a] - X[b], y = Y[a] - Y[b], pull = Math.hypot(x, y) / k;
    dx[a] -= x * pull; dy[a] -= y * pull; dx[b] += x * pull; dy[b] += y * pull;
  }
  for (let a = 0; a < n; a++) {
    dx[a] -= X[a] * 8 * k; dy[a] -= Y[a] * 8 * k;
    const far = Math.hypot(dx[a], dy[a]) || 1, go = Math.min(far, heat) / far;
    X[a] += dx[a] * go; Y[a] += dy[a] * go;
  }
  settle--;
}
const at = (rank) => {
  const n = rank < 0 ? graph.agents : rank;
  return [view.left + X[n] * view.scale, view.top + Y[n] * view.scale];
};
function fit() {
  const ratio = devicePixelRatio || 1, side = $("base").clientWidth;
  for (const canvas of [$("base"), $("dots")]) {
    if (canvas.width !== Math.round(side * ratio)) canvas.width = canvas.height = Math.round(side * ratio);
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  let left = 0, right = 0, top = 0, bottom = 0;
  for (let a = 0; a < graph.agents; a++) {
    left = Math.min(left, X[a]); right = Math.max(right, X[a]); top = Math.min(top, Y[a]); bottom = Math.max(bottom, Y[a]);
  }
  const scale = (side - 36) / Math.max(right - left, bottom - top, .1);
  view = { scale, left: side / 2 - scale * (left + right) / 2, top: side / 2 - scale * (top + bottom) / 2, side };
}

// --- what is drawn ---------------------------------------------------------------------------------
const LOOKS = { here: ["s0", 1], done: ["s2", 1], "waited for": ["s1", 1], "connection lost": ["warn", 0], gone: ["bad", 0], "not here": ["muted", 0] };
function looks() {
  const found = new Array(graph.agents).fill(state.arrived >= graph.agents ? "here" : "not here");
  Object.keys(state.heard).forEach((n) => { found[n] = "here"; });
  if (state.waiting && state.waiting[1].length < graph.agents) state.waiting[1].forEach((n) => { if (found[n] === "here") found[n] = "waited for"; });
  (state.finished || []).forEach((n) => { found[n] = "done"; });
  state.away.forEach((n) => { found[n] = "connection lost"; });
  Object.keys(state.lost || {}).forEach((n) => { found[n] = "gone"; });
  return found;
}
const web = document.createElement("canvas");
let webPlace = "", webUse = "", webAt = 0;
function drawLinks() {  // thousands take a frame's time: anew when all moves, else now and then
  const used = new Float64Array(graph.links.length);
  for (const [there, back] of Object.values(state.flow?.links || {})) for (let i = 0; i < used.length; i++) used[i] += there[i] + back[i];
  const most = used.reduce((a, b) => Math.max(a, b), 0), classes = [[], [], [], [], []];
  used.forEach((w, i) => classes[most ? Math.min(4, Math.floor(5 * Math.sqrt(w / most))) : 0].push(i));
  const place = [view.side, view.scale, view.left, view.top, settle, colour("s7"), $("base").width].join();
  const use = classes.map((members) => members.length).join(), now = performance.now();
  if (place === webPlace && (use === webUse || now < webAt + 3000)) return;
  webPlace = place; webUse = use; webAt = now;
  web.width = web.height = $("base").width;
  const pen = web.getContext("2d");
  pen.setTransform($("base").getContext("2d").getTransform());
  pen.strokeStyle = colour("s7");
  // up to a pixel of the screen a line costs a tenth
  const [thin, thick] = used.length > 300 ? [.4, .6] : [.5, Math.min(4, 20 / Math.sqrt(used.length + 1))];
  const pixel = used.length > 300 ? 1 / (devicePixelRatio || 1) : 1;
  classes.forEach((members, c) => {
    pen.globalAlpha = Math.min(.75, Math.max(.1, 9 / Math.sqrt(used.length + 1))) * (most && !c ? .6 : 1);
    pen.lineWidth = pixel * (thin + thick * ((c + (most ? 1 : 0)) / 5) ** 2);
    pen.beginPath();
    for (const i of members) { const [a, b] = graph.links[i]; pen.moveTo(...at(a)); pen.lineTo(...at(b)); }
    pen.stroke();
  });
}
function draw() {
  fit(); drawLinks();
  const pen = $("base").getContext("2d");
  pen.clearRect(0, 0, view.side, view.side);
  if (web.width) pen.drawImage(web, 0, 0, view.side, view.side);
  const size = Math.max(2.2, Math.min(9, view.side / 5 / Math.sqrt(graph.agents))), found = looks();
  for (const [look, [name, full]] of Object.entries(LOOKS)) {
    pen.fillStyle = full ? colour(name) : colour("paper"); pen.strokeStyle = colour(name); pen.lineWidth = Math.min(2, size / 2);
    pen.beginPath();
    found.forEach((own, n) => { if (own === look) { const [x, y] = at(n); pen.moveTo(x + size, y); pen.arc(x, y, size, 0, 7); } });
    pen.fill(); pen.stroke();
  }
  pen.strokeStyle = colour("ink"); pen.lineWidth = 1.5;
  for (const n of [...graph.sinks, ...graph.byzantine]) { const [x, y] = at(n); pen.strokeRect(x - size - 2, y - size - 2, 2 * size + 4, 2 * size + 4); }
  if (graph.links.some(([, b]) => b < 0)) { const [x, y] = at(-1); pen.fillStyle = colour("ink"); pen.fillRect(x - 8, y - 8, 16, 16); }
  pen.fillStyle = colour("paper"); pen.font = `${size * 1.1}px system-ui`; pen.textAlign = "center"; pen.textBaseline = "middle";
  if (size > 8) found.forEach((own, n) => { if (LOOKS[own][1]) pen.fillText(n, ...at(n)); });
  stale = false;
  return found;
}
function frame(now) {
  if (graph && state) {
    if (settle > 0) {
      const until = performance.now() + 5;
      do step(); while (settle > 0 && performance.now() < until);
      stale = true;
    }
    if (stale) draw();
    const pen = $("dots").getContext("2d");
    if (dots.length) {
      pen.clearRect(0, 0, view.side, view.side);
      dots = dots.filter((dot) => now < dot.begin + FLIGHT);
      for (const { from, to, begin, name } of dots) {
        const way = (now - begin) / FLIGHT;
        if (way < 0) continue;
        const [ax, ay] = at(from), [bx, by] = at(to);
        pen.fillStyle = name; pen.beginPath(); pen.arc(ax + (bx - ax) * way, ay + (by - ay) * way, 3, 0, 7); pen.fill();
      }
    }
  }
  requestAnimationFrame(frame);
}
function fly() {  // what went since the last event, sampled if it is much
  if (calm.matches || document.hidden || !before?.flow || before.run !== state.run) return;
  const went = [];
  for (const [kind, ways] of Object.entries(state.flow?.links || {})) ways.forEach((counts, way) => {
    const old = before.flow.links[kind]?.[way];
    counts.forEach((count, i) => { if (count > (old ? old[i] : 0)) went.push([kind, i, way]); });
  });
  const every = Math.max(1, went.length / Math.max(1, MOST_DOTS - dots.length)), now = performance.now();
  for (let n = 0; n < went.length; n += every) {
    const [kind, i, way] = went[Math.floor(n)], [a, b] = graph.links[i];
    dots.push({ from: way ? b : a, to: way ? a : b, begin: now + 500 * (n / went.length), name: ofKind(kind) });
  }
}

// --- what is written -------------------------------------------------------------------------------
function line(svg, points, column) {
  const rows = points.filter((row) => row[column] !== null), last = rows.at(-1);
  const wide = last[0] || 1, high = Math.max(...rows.map((row) => row[column])) || 1;
  const path = rows.map((row) => `${(300 * row[0] / wide).toFixed(1)},${(104 - 98 * row[column] / high).toFixed(1)}`).join(" ");
  svg.innerHTML = `<path d="M0 104H300" stroke="var(--muted)"/><polyline points="${path}" fill="none" stroke="var(--s${column - 1})" stroke-width="2"/>`;
}
function write() {
  const { kinds, runs, agents } = graph, flow = state.flow || { total: {}, links: {} }, over = state.status && !state.running;
  const which = runs > 1 ? `Run ${state.run + 1} of ${runs}` : "The run";
  $("kicker").textContent = `${graph.system} (${graph.variant}) · ${graph.title} · ${agents} agents · ${graph.arms} arms · ${graph.mode} · engine ${graph.engine}`;
  if (!ended) $("head").textContent = state.run === undefined ? `${state.arrived} of ${agents} agents are here` : over ? `${which} has ended: ${state.status.replaceAll("_", " ")}` : `${which} goes on`;
  document.title = `${$("head").textContent} · posse watch`;
  $("said").textContent = (state.said || []).join(" · ");
  $("share").hidden = !state.share; $("share").value = state.share || 0;
  $("here").textContent = `${number(state.arrived)} of ${number(agents)}`;
  $("messages").textContent = number(Object.values(flow.total).reduce((a, b) => a + b, 0));
  const [, regret, epsilon] = state.now || [], lab = graph.mode === "lab";
  const promised = graph.claimed !== null, told = promised || epsilon;
  $("regret").textContent = lab ? number(regret) : "with agents";
  $("epsilon").textContent = !told ? "none promised" : lab ? number(epsilon) : "with agents";
  const grown = (state.grown || []).filter((row) => row[1] !== null);
  $("growth").hidden = grown.length < 2;
  if (grown.length > 1) {
    line($("regretline"), grown, 1);
    $("epsilonline").style.display = told ? "" : "none";
    if (told) line($("epsilonline"), grown, 2);
    $("regretsaid").textContent = `regret of all: ${number(regret)} in ${number(grown.at(-1)[0])} ${graph.unit}`;
    $("epsilonsaid").textContent = !told ? "ε does not apply: none is promised"
      : `ε of the reward that cost most: ${number(epsilon)}${promised ? ` of ${number(graph.claimed)} claimed` : ", and none promised"}`;
  }
  const votes = state.votes || [], most = Math.max(1, ...votes);
  $("arms").hidden = !votes.length;
  $("votes").replaceChildren(...votes.map((count, arm) => {
    const row = element("li"), out = (state.out || []).includes(arm);
    row.append(element("span", `arm ${arm}`, out ? "out" : ""), Object.assign(document.createElement("meter"), { max: most, value: count }), element("span", out ? `${number(count)}, out` : number(count)));
    return row;
  }));
  const gone = before && before.run === state.run ? Math.max(.1, state.at - before.at) : 0;
  const rows = [...kinds.filter((kind) => flow.total[kind]).map((kind) => [kind, flow.total[kind], before?.flow?.total[kind] || 0, ofKind(kind)]),
    ["control (beginning, end, clocks)", state.control || 0, before?.control || 0, "transparent"]];
  $("kinds").replaceChildren(...rows.map(([kind, count, old, dye]) => {
    const row = element("tr"), name = element("td", kind), dot = element("i");
    dot.style.background = dye; name.prepend(dot);
    row.append(name, element("td", number(count), "n"), element("td", gone ? number(Math.round((count - old) / gone)) : "–", "n"));
    return row;
  }));
  busiest(flow); trouble(); pick();
}
const told = (flow, i) => Object.entries(flow.links).map(([kind, [there, back]]) => [kind, there[i] + back[i]]).filter(([, count]) => count);
function busiest(flow) {
  const used = graph.links.map((_, i) => [told(flow, i).reduce((sum, [, count]) => sum + count, 0), i]).filter(([count]) => count);
  used.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  $("busy").hidden = !used.length;
  $("links").replaceChildren(...used.slice(0, 6).map(([, i]) => {
    const row = element("tr");
    row.append(element("td", graph.links[i].map(named).join(" – ")), element("td", told(flow, i).map(([kind, count]) => `${number(count)} ${kind}`).join(", "), "n"));
    return row;
  }));
}
function trouble() {
  const said = [], counts = (pairs) => pairs.map(([what, n]) => `${n} ${what}`).join(", ");
  const late = state.waiting ? state.waiting[1].filter((n) => (state.heard[n] ?? 9) > 2) : [];
  if (late.length) said.push(`waiting for ${list(late)} ${state.waiting[0]}`);
  if (state.away.length) said.push(`connection lost: ${list(state.away)}`);
  Object.entries(state.lost || {}).forEach(([n, why]) => said.push(`agent ${n} is gone: ${why}`));
  if (state.restarts.length) said.push(`started again: ${state.restarts.map(([n, times]) => `agent ${n} (${times})`).join(", ")}`);
  if (state.resent) said.push(`${number(state.resent)} frames were sent again`);
  if (Object.keys(state.refused).length) said.push(`refused: ${counts(Object.entries(state.refused))}`);
  $("trouble").replaceChildren(...(said.length ? said : ["none"]).map((text) => element("li", text)));
}
function pick() {
  const n = $("pick").value === "" ? -1 : Number($("pick").value);
  if (!graph || !state || !(n >= 0 && n < graph.agents)) return;
  const heard = n in state.heard ? `, said ${state.last[n]} ${state.heard[n]} s ago` : "", flow = state.flow || { links: {} };
  const links = graph.links.map((ends, i) => [ends, i]).filter(([ends]) => ends.includes(n)).slice(0, 8)
    .map(([[a, b], i]) => `${named(a === n ? b : a)}: ${told(flow, i).map(([kind, count]) => `${number(count)} ${kind}`).join(", ") || "nothing"}`);
  $("picked").textContent = `is ${looks()[n]}${heard}. With ${links.join("; ") || "nobody"}.`;
}
function legend() {
  const count = {};
  looks().forEach((look) => { count[look] = (count[look] || 0) + 1; });
  const rows = Object.entries(LOOKS).filter(([look]) => count[look]).map(([look, [name, full]]) => {
    const row = element("span", `${look} (${count[look]})`), dot = element("i");
    dot.style.borderColor = `var(--${name})`; dot.style.background = full ? `var(--${name})` : "none";
    row.prepend(dot);
    return row;
  });
  const squares = [graph.sinks.length && "framed: sinks", graph.byzantine.length && "framed: liars", graph.links.some(([, b]) => b < 0) && "square: the coordinator"];
  $("legend").replaceChildren(...rows, ...squares.filter(Boolean).map((text) => element("span", text, "note")));
}

// --- what happens ----------------------------------------------------------------------------------
let ended = null;
const source = new EventSource(`events${location.search}`);
source.addEventListener("graph", (event) => {
  graph = JSON.parse(event.data); before = null; dots = []; webPlace = ""; layOut(); stale = true;
  $("omitted").hidden = !graph.omitted;
  $("omitted").textContent = `${number(graph.omitted)} more links are not drawn.`;
  $("foot").textContent = graph.mode === "lab" ? "The lab: regret and ε are as the agents of this machine measure them, each now and then."
    : "The field: what agents keep, and what they say to each other, is not here; see “What leaves a process”.";
});
source.addEventListener("state", (event) => {
  before = state; state = JSON.parse(event.data);
  fly(); write(); legend(); stale = true;
});
source.addEventListener("end", (event) => {
  ended = JSON.parse(event.data); source.close();
  $("head").textContent = ended.failed ? `It failed: ${ended.failed}` : "All runs are complete";
  $("head").className = ended.failed ? "bad" : "";
  $("said").textContent = ended.said.filter(([what]) => what === "found").map(([, text]) => text).join("");
});
source.onerror = () => { if (!ended) $("head").textContent = "The coordinator does not answer; trying again …"; };
$("pick").addEventListener("input", pick);
$("base").addEventListener("click", (event) => {
  if (!graph) return;
  let best = 20 ** 2;
  for (let n = 0; n < graph.agents; n++) {
    const [x, y] = at(n), far = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
    if (far < best) { best = far; $("pick").value = n; }
  }
  pick();
});
const repaint = () => { colours = {}; stale = true; if (graph && state) { write(); legend(); } };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
new ResizeObserver(() => { stale = true; }).observe($("base"));
$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark"; repaint();
});
requestAnimationFrame(frame);
