const { errors } = forecaster(given);
const FIELDS = ["rows", "columns", "values", "epsilon", "delta"];
const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [360, 230, 44, 16, 34, 8];
const [LEAST, MOST] = [1e-4, 1];
const field = (name) => document.getElementById(name);

const node = (name, content, attributes = {}) => {
  const svg = ["svg", "path", "line", "text", "circle"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[content].flat());
  return made;
};
const number = (value) => {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value < 1e-4 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
};
const percent = (value) => `${number(100 * value)} %`;
const range = ([least, largest], shown) => {
  const [low, high] = [shown(least), shown(largest)];
  return low === high ? low : `${low} to ${high}`;
};

const tile = (title, text) => node("div", [node("dt", title), node("dd", text)]);
const row = (cells) => node("tr", cells.map((one, place) => node("td", one, place ? { class: "n" } : {})));

const shownOf = (asked, found) => {
  const lines = [row(["a column", range(found.count.sigma, number), range(found.count.error, percent)])];
  if (found.pair) lines.push(row(["a pair of columns", range(found.pair.sigma, number), range(found.pair.error, percent)]));
  const head = ["", "noise of one count, ± rows", "rows in a wrong cell"];
  const left = found.pairs - found.measured;
  const some = `${number(found.measured)} of ${number(found.pairs)} pairs are measured in time; the model says the rest.`;
  return [
    node("dl", [
      tile("Right guess, from even odds", `at most ${(100 * found.right).toFixed(1)} %`),
      tile("Rows in a wrong cell, of a column", range(found.count.error, percent)),
      tile("Of a pair of columns", found.pair ? range(found.pair.error, percent) : "not measured"),
      tile("Rows for each cell of a pair", number(asked.rows / asked.values ** 2)),
    ], { class: "tiles" }),
    node("div", node("table", [
      node("thead", node("tr", head.map((one, place) => node("th", one, place ? { class: "n" } : {})))),
      node("tbody", lines),
    ]), { class: "scroll" }),
    node("p", found.pair ? (left ? some : "") : "Noise would hide all pairs, so the whole budget measures single columns.", { class: "note" }),
  ];
};

const chart = (title, name, from, to, asked, unit) => {
  const across = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(value / from)) / Math.log(to / from);
  const up = (error) =>
    TOP + ((HEIGHT - BOTTOM - TOP) * Math.log(MOST / Math.min(MOST, Math.max(LEAST, error)))) / Math.log(MOST / LEAST);
  const drawn = [];
  for (let error = LEAST; error <= MOST * 1.01; error *= 10) {
    drawn.push(node("line", "", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: up(error), y2: up(error) }));
    drawn.push(node("text", percent(error), { x: LEFT - 5, y: up(error) + 3.5, "font-size": 10, "text-anchor": "end" }));
  }
  for (let value = from; value <= to * 1.01; value *= 10) {
    drawn.push(node("line", "", { class: "grid", x1: across(value), x2: across(value), y1: TOP, y2: HEIGHT - BOTTOM }));
    drawn.push(node("text", Number(value.toPrecision(1)).toLocaleString("en", { notation: "compact" }), { x: across(value), y: HEIGHT - BOTTOM + 14, "font-size": 10, "text-anchor": "middle" }));
  }
  drawn.push(node("text", unit, { x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "font-size": 10.5, "text-anchor": "middle" }));
  const places = Array.from({ length: 81 }, (_, n) => from * (to / from) ** (n / 80));
  const found = places.map((value) => errors({ ...asked, [name]: value }));
  for (const [kind, of] of [["pairs", "pair"], ["counts", "count"]]) {
    const known = places.map((value, n) => [across(value), found[n][of]]).filter(([, one]) => one);
    const line = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");
    const above = known.map(([x, one]) => [x, up(one.error[1])]);
    const below = known.map(([x, one]) => [x, up(one.error[0])]).reverse();
    const inside = above.filter(([, y]) => y < HEIGHT - BOTTOM);
    if (known.length < 2) continue;
    drawn.push(node("path", "", { class: `band ${kind}`, d: `M${line([...above, ...below])}Z` }));
    drawn.push(node("path", "", { class: `curve ${kind}`, d: `M${line(inside)}` }));
  }
  const chosen = across(Math.min(to, Math.max(from, asked[name])));
  drawn.push(node("line", "", { class: "chosen", x1: chosen, x2: chosen, y1: TOP, y2: HEIGHT - BOTTOM }));
  const legend = [["s1", "columns"], ["s0", "pairs of columns"]].map(([colour, text]) => node("li", [node("i", "", { class: colour }), text]));
  return node("section", [
    node("h2", title),
    node("svg", drawn, { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}; the numbers for what you chose are in the table above` }),
    node("ul", legend, { class: "legend" }),
  ], { class: "card" });
};

const show = () => {
  if (!FIELDS.every((name) => field(name).checkValidity())) {
    field("found").replaceChildren(...FIELDS.filter((name) => !field(name).checkValidity()).map((name) =>
      node("p", `${field(name).labels[0].textContent}: ${field(name).validationMessage}`, { class: "note" })));
    return;
  }
  const asked = Object.fromEntries(FIELDS.map((name) => [name, field(name).valueAsNumber]));
  field("found").replaceChildren(...shownOf(asked, errors(asked)));
  field("charts").replaceChildren(
    chart("Rows in a wrong cell, by epsilon", "epsilon", 0.01, 100, asked, "epsilon"),
    chart("Rows in a wrong cell, by the number of rows", "rows", 100, 1e7, asked, "rows"),
  );
};

for (const name of FIELDS) {
  field(name).addEventListener("input", () => {
    if (name === "epsilon" && field(name).checkValidity()) field("slider").value = Math.log10(field(name).valueAsNumber);
    show();
  });
}
field("slider").addEventListener("input", () => {
  field("epsilon").value = (10 ** field("slider").valueAsNumber).toPrecision(2);
  show();
});
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
field("asked").hidden = false;
show();
