document.addEventListener("click", (event) => {
  const th = event.target.closest("th button")?.closest("th");
  if (!th) return;
  const body = th.closest("table").tBodies[0];
  const column = th.cellIndex, up = th.getAttribute("aria-sort") !== "ascending";
  const numeric = th.classList.contains("n");
  const key = (row) => {
    const cell = row.cells[column];
    return numeric ? parseFloat(cell.dataset.v) : cell.textContent;
  };
  const order = (a, b) => {
    if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
    return (Number.isNaN(a) ? Infinity : a) - (Number.isNaN(b) ? Infinity : b) || 0;
  };
  const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * order(key(a), key(b)));
  body.append(...rows);
  th.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", up ? "ascending" : "descending");
});
const fit = (frame, inner) => {
  const table = inner.querySelector("table");
  if (!table || !inner.clientWidth || frame.dataset.width === `${frame.clientWidth}`) return;
  frame.dataset.width = frame.clientWidth;
  const names = [...table.tHead.rows[0].cells].map((th) => th.textContent);
  for (const row of table.tBodies[0].rows)
    for (const td of row.cells) td.dataset.h = names[td.cellIndex];
  for (table.className of ["", "tight", "cards"])
    if (inner.scrollWidth <= inner.clientWidth + 1) break;
};
const dress = () => document.querySelectorAll(".frame").forEach((frame) => {
  const inner = frame.firstElementChild;
  const look = () => {
    fit(frame, inner);
    frame.classList.toggle("left", inner.scrollLeft > 1);
    frame.classList.toggle("right", inner.scrollLeft + inner.clientWidth < inner.scrollWidth - 1);
    frame.classList.toggle("down", inner.scrollTop + inner.clientHeight < inner.scrollHeight - 1);
  };
  inner.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(inner);
  look();
});
dress();
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
for (const form of document.querySelectorAll("form.ask")) {
  const asked = JSON.parse(form.querySelector("script").textContent);
  const sliders = [...form.querySelectorAll("input")], group = form.querySelector("select");
  const before = (a, b) => {
    for (let n = 0; n < a.rank.length; n++) if (a.rank[n] !== b.rank[n]) return a.rank[n] - b.rank[n];
    return 0;
  };
  const answer = () => {
    const fits = sliders.map((slider, n) => {
      const [, stops, exact] = asked.sliders[n], place = +slider.value;
      const [value, word] = stops[place];
      slider.previousElementSibling.textContent = word;
      slider.ariaValueText = word;
      if (exact) return (needs) => needs === value;
      return (needs) => place === stops.length - 1 || (needs !== null && needs <= value);
    });
    const able = asked.candidates.filter((one) => one.group === group.value &&
      one.limits.every((needs, n) => fits[n](needs))).sort(before);
    const [best, next] = able;
    form.querySelector("pre").textContent = best ? best.command : "";
    form.querySelector("pre").hidden = !best;
    let told = "Nobody measured here keeps to these limits.";
    if (best) told = `${best.name}: ${best.text}.`;
    if (next) {
      const even = before(best, next) === 0 || best.high >= next.low;
      const ahead = Math.round(100 * (1 - best.rank.at(-1) / next.rank.at(-1)));
      told += ` It is ${ahead} % ahead of the next, ${next.name}: ${next.text}; ` + (even && best.rank[0] === next.rank[0]
        ? "they are not clearly apart." : "the difference is clear.");
    } else if (best) told += " Nobody else keeps to these limits.";
    form.querySelector(".answer").textContent = told;
  };
  form.addEventListener("input", answer);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  answer();
}
for (const film of document.querySelectorAll(".film")) {
  const { unit, times, curves, gaps } = JSON.parse(film.querySelector("script").textContent);
  const form = film.querySelector("form"), slider = form.querySelector("input[type=range]");
  const box = film.querySelector(".scroll"), svg = box.querySelector("svg");
  const arrows = [...svg.querySelectorAll(".r")];
  const told = (arrow) => { form.querySelector(".answer").textContent = arrow.querySelector("title").textContent; };
  const end = Math.max(times.at(-1), ...curves.map(([, , points]) => points.at(-1)?.[0] ?? 0));
  const stops = times.map((time, row) => [time, row]);
  for (let n = 0; n <= 100; n++) stops.push([end * n / 100, null]);
  stops.sort((a, b) => a[0] - b[0]);
  slider.max = stops.length - 1;
  const at = (points, steps, time) => {
    const next = points.findIndex(([when]) => when > time);
    if (next <= 0) return next ? points.at(-1)?.[1] ?? 0 : points[0][1];
    const [[t, y], [u, z]] = [points[next - 1], points[next]];
    return steps ? y : y + (z - y) * (time - t) / (u - t);
  };
  const line = (parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "line");
    made.setAttribute("class", "now");
    return parent.appendChild(made);
  };
  const place = (made, x1, y1, x2, y2) => Object.entries({ x1, y1, x2, y2 })
    .forEach(([name, value]) => made.setAttribute(name, value));
  const charts = [...document.querySelectorAll("svg[data-time]")].map((chart) =>
    [line(chart), chart.dataset.time.split(" ").map(Number)]);
  const here = line(svg);
  const turn = () => {
    const [time, exact] = stops[+slider.value];
    const row = exact ?? Math.max(0, times.findLastIndex((when) => when <= time));
    const values = curves.filter(([, , points]) => points.length)
      .map(([name, steps, points]) => `${name} ${+at(points, steps, time).toPrecision(4)}`);
    const said = [`${+time.toPrecision(7)} ${unit}`, ...values].join(" · ");
    form.querySelector("output").textContent = said;
    slider.ariaValueText = said;
    for (const [made, [left, right, top, bottom, low, high]] of charts) {
      const x = left + (right - left) * (time - low) / (high - low);
      place(made, x, top, x, bottom);
      made.toggleAttribute("hidden", x < left || x > right);
    }
    const y = 46 + 18 * row;
    place(here, 0, y + 2, svg.width.baseVal.value, y + 2);
    box.scrollTop = y - box.clientHeight / 2;
    const sent = arrows.find((arrow) => +arrow.dataset.r === row);
    if (exact === null && gaps.includes(row + 1)) form.querySelector(".answer").textContent = "Messages of this time are left out.";
    else if (sent) told(sent);
  };
  box.addEventListener("scroll", () => {
    const down = Math.max(0, box.scrollTop - 20);
    svg.querySelector(".names").setAttribute("transform", `translate(0 ${down})`);
  }, { passive: true });
  svg.addEventListener("pointerover", (event) => {
    const arrow = event.target.closest(".r");
    if (arrow) told(arrow);
  });
  form.addEventListener("input", (event) => {
    if (event.target === slider) return turn();
    for (const arrow of svg.querySelectorAll(`.r.${event.target.value}`)) arrow.toggleAttribute("hidden", !event.target.checked);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  turn();
}
let missed = 0;
const renew = async () => {
  let next = null;
  try {
    const answered = await fetch(location.href, { cache: "no-store" });
    if (answered.ok) next = new DOMParser().parseFromString(await answered.text(), "text/html");
  } catch { /* told below */ }
  if (!next?.querySelector("nav .scroll")) {
    document.querySelector("footer p").textContent = "No answer any more: this is what was shown last.";
    if (++missed < 5) setTimeout(renew, 2000);
    return;
  }
  missed = 0;
  const open = [...document.querySelectorAll("details")].map((one) => one.open);
  for (const part of ["header", "nav .scroll", "main", "footer"]) {
    const shown = document.querySelector(part), now = next.querySelector(part);
    if (shown.innerHTML !== now.innerHTML) shown.replaceChildren(...now.childNodes);
  }
  document.title = next.title;
  const folds = document.querySelectorAll("details");
  if (folds.length === open.length) folds.forEach((one, n) => { one.open = open[n]; });
  dress();
  if ("live" in next.body.dataset) setTimeout(renew, 2000);
};
if ("live" in document.body.dataset) setTimeout(renew, 2000);
