// look looks at the page as it is and again with everything unfolded, and lists
// what is wrong: text that cannot be read for its colours, text that is cut off or
// lies over other text, figures without a name for those who do not see them.
(() => {
  const problems = [];
  const say = text => { if (problems.length < 20 && !problems.includes(text)) problems.push(text); };
  const name = e => e.tagName.toLowerCase() + (e.className && e.className.baseVal === undefined ? "." + e.className : "") + ` "${(e.textContent || "").trim().slice(0, 40)}"`;
  const colour = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const background = e => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length && c[3] !== 0) return c;
    }
    return [255, 255, 255];
  };
  const inspect = () => {
    const boxes = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      const e = n.parentElement;
      if (!n.textContent.trim() || e.closest("title, style, defs") || !e.checkVisibility({ contentVisibilityAuto: true })) continue;
      const range = document.createRange();
      range.selectNodeContents(n);
      const drawn = e.tagName === "text";
      const ink = colour(drawn ? getComputedStyle(e).fill : getComputedStyle(e).color);
      let paper = background(e);
      if (drawn) {
        let under = e.previousElementSibling;
        while (under && !/\bq\d/.test(under.getAttribute("class") || "")) under = under.previousElementSibling;
        if (under) paper = colour(getComputedStyle(under).fill);
      }
      if (contrast(ink, paper) < 4.5) say(`contrast ${contrast(ink, paper).toFixed(2)}: ${name(e)}`);
      for (const r of range.getClientRects()) {
        if (r.width < 1) continue;
        if (!e.closest(".wide") && (r.right > innerWidth + 1 || r.left < -1)) say(`beyond the edge: ${name(e)}`);
        boxes.push({ left: r.left, right: r.right, top: r.top + 2, bottom: r.bottom - 2, e });
      }
    }
    boxes.sort((a, b) => a.top - b.top);
    for (let i = 0; i < boxes.length; i++) {
      const a = boxes[i];
      for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom - 1; k++) {
        const b = boxes[k];
        if (b.left < a.right - 1 && b.right > a.left + 1) say(`${name(a.e)} lies over ${name(b.e)}`);
      }
    }
    for (const svg of document.querySelectorAll("svg")) {
      if (svg.parentElement.closest("svg, [aria-hidden]") || svg.hasAttribute("aria-hidden")) continue;
      if (svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")) say("a figure without a name");
      const r = svg.getBoundingClientRect();
      if (r.width && (r.left < -1 || r.right > innerWidth + 1)) say(`a figure beyond the edge: ${svg.getAttribute("aria-label")}`);
    }
  };
  inspect();
  const height = document.documentElement.scrollHeight;
  for (const d of document.querySelectorAll("details")) d.open = true;
  inspect();
  for (const a of document.querySelectorAll('a[href^="#"]')) {
    if (!document.querySelector(a.getAttribute("href"))) say(`a link leads nowhere: ${name(a)}`);
  }
  return {
    Width: document.documentElement.scrollWidth,
    Height: height,
    Headline: document.querySelector("h1").textContent,
    Text: document.body.innerText.replace(/\s+/g, " "),
    Charts: [...document.querySelectorAll(".plotted")].map(e => e.getAttribute("aria-label")),
    Squares: document.querySelectorAll(".node g").length,
    Letters: document.querySelectorAll(".node text").length,
    Anchors: [...document.querySelectorAll("nav a")].map(a => a.getAttribute("href")),
    Problems: problems,
  };
})()
