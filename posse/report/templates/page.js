document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
  const th = button.closest("th"), body = th.closest("table").tBodies[0];
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
}));
document.querySelectorAll(".frame").forEach((frame) => {
  const inner = frame.firstElementChild;
  const look = () => {
    frame.classList.toggle("left", inner.scrollLeft > 1);
    frame.classList.toggle("right", inner.scrollLeft + inner.clientWidth < inner.scrollWidth - 1);
    frame.classList.toggle("down", inner.scrollTop + inner.clientHeight < inner.scrollHeight - 1);
  };
  inner.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(inner);
  look();
});
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
