// Search and sorting. Everything that can be found has the class "find" and shows all
// that it can be found by; what holds the like has the class "finds" and goes when all
// in it has gone. A cell of the map has the number of the row that tells of it.
(() => {
  "use strict";
  const bar = document.getElementById("search");
  if (bar) {
    const field = bar.querySelector("input"), said = bar.querySelector("output");
    bar.hidden = false;
    const all = [...document.querySelectorAll(".find")];
    const texts = all.map(e => (e.dataset.find || e.textContent).toLowerCase().replace(/\s+/g, " "));
    const holders = [...document.querySelectorAll(".finds")].reverse();
    const folds = [...document.querySelectorAll("details")];
    const cells = new Map([...document.querySelectorAll("a.cell")].map(e => [e.getAttribute("href").slice(1), e]));
    const maps = [...document.querySelectorAll(".rack, .block")];
    let before = null;
    const kinds = [["node", "node", "nodes"], ["queue", "queue", "queues"], ["work", "workload or kind of workload", "workloads or kinds of workloads"]];
    const search = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const on = words.length > 0;
      if (on && !before) before = folds.map(d => d.open);
      const count = {};
      document.documentElement.classList.toggle("searching", on);
      all.forEach((e, i) => {
        const hit = words.every(w => texts[i].includes(w));
        e.hidden = on && !hit;
        if (on && hit) count[e.dataset.kind] = (count[e.dataset.kind] || 0) + 1;
        const cell = cells.get(e.id);
        if (cell) cell.classList.toggle("found", on && hit);
      });
      for (const m of maps) m.hidden = on && !m.querySelector("a.found");
      for (const h of holders) h.hidden = on && !h.querySelector(".find:not([hidden])");
      if (on) for (const d of folds) d.open = !d.classList.contains("quietly") && !!d.querySelector(".find:not([hidden])");
      if (!on && before) { folds.forEach((d, i) => { d.open = before[i]; }); before = null; }
      const told = kinds.filter(k => count[k[0]]).map(k => count[k[0]] + " " + (count[k[0]] === 1 ? k[1] : k[2]));
      said.textContent = !on ? "" : told.length ? "Found: " + told.join(", ") : "Nothing is called so, and nothing tells of it.";
    };
    let later = 0;
    field.addEventListener("input", () => { clearTimeout(later); later = setTimeout(search, 120); });
    field.addEventListener("keydown", e => { if (e.key === "Escape") { field.value = ""; search(); } });
    document.addEventListener("keydown", e => {
      if (e.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { e.preventDefault(); field.focus(); }
    });
  }
  // A click on the head of a column sorts by it, a second one the other way.
  const value = td => {
    const text = (td.dataset.sort || td.textContent).trim(), number = parseFloat(text);
    return [Number.isNaN(number) ? 1 : 0, number, text];
  };
  const compare = (a, b) => a[0] - b[0] || (a[0] === 0 && a[1] - b[1]) || a[2].localeCompare(b[2], "en", { numeric: true });
  for (const table of document.querySelectorAll("table.sorts")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      th.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map(r => [value(r.cells[column]), r]);
        rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
        table.tBodies[0].append(...rows.map(r => r[1]));
      });
    });
  }
  // A link to something that is folded away unfolds it.
  const reveal = () => {
    let e = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!e) return;
    for (let d = e.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    e.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
