import { amountColour, busy, call, chart, element, facts, fill, inkOn, intervalPicture, keyOfGraph, number, routed, shape, show, signedIn, small } from "/page/shared.js";

const by = (id) => document.getElementById(id);
const pendingKey = () => keyOfGraph("gcdp-pending");
const PAGE = 100;  // answers that are loaded at once
let graph = null, sessions = [], current = null, items = [], me = null, labelsAreNumbers = false;

// Fills the form of a set of vertices: groups, labels that are typed or pasted, a file.
function makeSide(name) {
  const form = by(`side-${name}`);
  const side = name === "T" && graph.groups.length > 1 ? 1 : 0;
  const levels = graph.groups[side] || [];
  if (name === "T") {
    form.append(
      element("label", { class: "inline" }, element("input", { type: "radio", name: "T", value: "rest", checked: true, id: "T-rest" }), "all other vertices"),
      element("label", { class: "inline" }, element("input", { type: "radio", name: "T", value: "these", id: "T-these" }), "these:"),
    );
  }
  if (levels.length) {
    const boxes = element("div", { class: "groups", role: "group", "aria-label": `Groups, ${name === "S" ? "from" : "to"}` });
    for (const level of levels)
      level.names.forEach((group, index) => {
        const mark = levels.length > 1 ? `@${level.level}:${group}` : `@${group}`;
        boxes.append(element("label", { class: "inline" }, element("input", { type: "checkbox", name: `group-${name}`, value: mark, onchange: () => chosen(name) }), `${group} (${number(level.sizes[index])})`));
      });
    form.append(boxes);
  }
  form.append(
    element("div", { class: "field" },
      element("label", { for: `labels-${name}`, text: "Vertex labels" }),
      element("textarea", { id: `labels-${name}`, rows: 3, "aria-describedby": `labels-${name}-hint`, oninput: () => chosen(name) }),
      element("span", { class: "hint", id: `labels-${name}-hint`, text: "Commas or new lines between; a label with a comma in double quotes." })),
    element("div", {},
      element("label", { for: `file-${name}`, text: "Or a CSV file" }),
      element("input", { type: "file", id: `file-${name}`, accept: ".csv,.txt,text/csv,text/plain", onchange: (event) => fromFile(name, event.target.files[0]) }),
      element("span", { class: "hint", text: " Its first column is read." })),
  );
}

function chosen(name) {
  if (name === "T") by("T-these").checked = true;
}

async function fromFile(name, file) {
  if (!file) return;
  const lines = (await file.text()).split(/\r?\n/).map(firstCell).filter(Boolean);
  by(`labels-${name}`).value = lines.map((label) => (/,|^"/.test(label) ? `"${label.replaceAll('"', '""')}"` : label)).join("\n");
  chosen(name);
}

function firstCell(line) {
  const quoted = /^\s*"((?:[^"]|"")*)"/.exec(line);
  return quoted ? quoted[1].replaceAll('""', '"') : line.split(/[,;\t]/)[0].trim();
}

function typed(name) {
  const groups = [...document.querySelectorAll(`input[name="group-${name}"]:checked`)].map((box) => box.value);
  const words = [...by(`labels-${name}`).value.matchAll(/"((?:[^"]|"")*)"|[^"\s,][^\n,]*/g)].map(([word, quoted]) => quoted?.replaceAll('""', '"') ?? word.trim()).filter(Boolean);
  return [...groups, ...words.map((label) => (labelsAreNumbers && /^(0|-?[1-9]\d{0,17})$/.test(label) ? Number(label) : label))];
}

function asked() {
  const S = typed("S");
  if (!S.length) throw new Error("Choose at least one vertex or group to go from.");
  if (by("T-rest").checked) return { S };
  const T = typed("T");
  if (!T.length) throw new Error("Choose at least one vertex or group to go to, or all others.");
  return { S, T };
}

function path(more = "") {
  if (!current) throw new Error("Open a session first.");
  return `/v1/sessions/${encodeURIComponent(current.id)}${more}`;
}

async function guarded(note, button, work) {
  await busy(button, async () => {
    try {
      await work();
    } catch (error) {
      const left = error.body?.left?.queries;
      show(note, left === undefined ? error.message : `${error.message} Left: ${number(left)}.`);
    }
  });
}

function costText(cost) {
  const fresh = `${number(cost.new)} new ${cost.new === 1 ? "query" : "queries"}, ${number(cost.free)} on the record already. `;
  const left = cost.left === null ? "" : `${number(cost.left)} left. `;
  const error = cost.error_bound === null ? "" : `The error of an answer is at most ${small(cost.error_bound)}. `;
  return fresh + left + error + (cost.allowed ? "" : "That is more than is left.");
}

// The request is kept until its answer has come, so that a page that is reloaded sends it again
// under the same key: it has one answer, and costs once.
async function answers(queries) {
  const pending = { key: crypto.randomUUID(), path: path("/answers"), queries };
  sessionStorage.setItem(pendingKey(), JSON.stringify(pending));
  return sendPending(pending);
}

async function sendPending(pending) {
  for (let attempt = 0; ; attempt++) {
    try {
      const reply = await call("POST", pending.path, { queries: pending.queries }, { "Idempotency-Key": pending.key });
      sessionStorage.removeItem(pendingKey());
      return reply;
    } catch (error) {
      if ((error.status !== 0 && error.status !== 503 && error.status !== 429) || attempt > 20) {
        sessionStorage.removeItem(pendingKey());
        throw error;
      }
      show(by("ask-note"), "The server cannot be reached; trying again.", "");
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function showAnswer(answer) {
  const [low, high] = answer.interval;
  const guarantee = answer.guaranteed
    ? `The true value is between ${number(low)} and ${high === null ? "any number" : number(high)}, with ${number(Math.floor(answer.confidence * 1e4 + 1e-6) / 100, 2)}% confidence for all answers of the session at once.`
    : "No guarantee: the session has run out.";
  by("answer").replaceChildren(
    element("p", {}, element("span", { class: "big", text: `about ${number(answer.value)}` })),
    intervalPicture(answer.value, answer.interval, null),
    element("p", { text: guarantee + (answer.seeded ? " Seeded: not private." : "") }),
  );
}

function setText({ labels, size, group }) {
  if (group) return `${group} (${number(size)})`;
  const shown = labels.slice(0, 4).join(", ");
  return size > 4 ? `${shown}, ... (${number(size)})` : shown;
}

function showHistory() {
  const rows = items.map((item, index) => {
    const [low, high] = item.answer.interval;
    return [
      { number: number(item.number) },
      item.S === null ? item.title : setText(item.S),
      item.T !== null ? setText(item.T) : item.S === null ? "" : "all others",
      { number: number(item.answer.value) + (item.answer.guaranteed ? "" : " (no guarantee)") },
      { number: `${number(low)} to ${high === null ? "any" : number(high)}` },
    ];
  });
  fill(by("history"), rows.reverse());
  const plotted = items.filter((item) => item.answer.interval[1] !== null);
  by("history-plot").replaceChildren();
  if (plotted.length)
    by("history-plot").append(chart(
      plotted.map(({ number: x, answer }) => ({ x, y: answer.value, low: answer.interval[0], high: answer.interval[1], guaranteed: answer.guaranteed, title: `No. ${x}: ${number(answer.value)}` })),
      { label: `Values and intervals of ${plotted.length} answers`, names: { x: "number of the answer" } },
    ));
  by("older").classList.toggle("hidden", !items.length || items[0].number === 1);
}

// Loads the answers before a number, the latest first; all that are shown already stay.
async function loadHistory(before = null) {
  if (!current || !["open", "stopped"].includes(current.state)) {
    items = [];
    showHistory();
    return;
  }
  const end = before === null ? current.answers : before;
  const first = Math.max(0, end - PAGE), loaded = [];
  while (first + loaded.length < end) {
    const after = first + loaded.length;
    const page = await call("GET", path(`/answers?after=${after}&limit=${end - after}`));
    if (!page.items.length) break;
    // The server ends a page early where queries are long.
    loaded.push(...page.items.map((item, index) => ({ ...item, number: after + index + 1 })));
  }
  items = before === null ? loaded : [...loaded, ...items];
  showHistory();
}

function showSession() {
  const ready = current && current.state === "open" && current.analyst === me.name;
  for (const id of ["send", "cost", "flows-ask", "flows-cost"]) by(id).disabled = !ready;
  by("export").classList.toggle("hidden", !current || !["open", "stopped"].includes(current.state));
  if (!current) {
    facts(by("session-facts"), [["State", "you have no session yet"]]);
    by("new-session").open = true;
    by("left-text").textContent = "";
    return;
  }
  by("export").href = routed(path("/export"));
  const rows = [
    ["State", current.state + (current.note ? ` (${current.note})` : "")],
    ["Guarantee", current.guarantee || "none yet"],
    ["Method", current.terms.method],
    ["Error", current.error_bound === null ? (current.forecast === null ? "unknown" : `about ${small(current.forecast)}, forecast`) : `up to ${small(current.error_bound)}`],
  ];
  if (current.interruptions) rows.push(["Interrupted", `${current.interruptions} times, counted as spent`]);
  facts(by("session-facts"), rows);
  const total = current.terms.queries, left = current.queries_left;
  by("left").max = total;
  by("left").value = left === null ? total : left;
  by("left-text").textContent = left === null ? `${number(current.answers)} answered; no limit` : `${number(left)} of ${number(total)} left, ${number(current.answers)} answered`;
  const notes = { waiting: "It waits for the curator; this page looks again by itself.", refused: "The curator refused it.", approved: "It was approved and could not begin; nothing was spent. Ask for it again with the same name and terms.", failed: "It was interrupted while it started, which counts as spent. Ask for another under a new name.", stopped: "It has run out. Answers on the record stay free." };
  show(by("session-note"), notes[current.state] || current.warning || "", current.state === "open" || current.state === "waiting" ? "" : "bad");
}

async function loadSessions(keep = null) {
  sessions = (await call("GET", "/v1/sessions")).sessions;
  const wanted = keep || current?.id;
  current = sessions.find((session) => session.id === wanted) || sessions.find((session) => session.analyst === me.name && session.state === "open") || sessions[0] || null;
  by("session").replaceChildren(...sessions.map((session) => element("option", { value: session.id, text: `${session.analyst === me.name ? session.name : session.id} (${session.state})`, selected: session === current })));
  showSession();
}

function showSpent(name, spent, word = "spent") {
  const bar = by(`budget-${name}`);
  bar.max = spent.cap_epsilon || Math.max(1, spent.epsilon);
  bar.value = spent.epsilon;
  const cap = spent.cap_epsilon === null ? `${word}, no limit` : `of ${small(spent.cap_epsilon)} ${word}`;
  const delta = spent.delta || spent.cap_delta ? `; delta ${small(spent.delta)}${spent.cap_delta === null ? "" : ` of ${small(spent.cap_delta)}`}` : "";
  by(`budget-${name}-text`).textContent = `epsilon ${small(spent.epsilon)} ${cap}${delta}`;
}

async function loadBudget() {
  const budget = await call("GET", "/v1/budget");
  showSpent("all", budget.all);
  showSpent("own", budget.yours, "approved");
  if (budget.cap_queries !== null) by("budget-own-text").textContent += `; ${number(budget.queries)} of ${number(budget.cap_queries)} queries`;
}

async function refresh(keep = null) {
  await loadSessions(keep);
  await Promise.all([loadBudget(), loadHistory()]);
}

function terms() {
  const edges = by("open-edges").value;
  return { name: by("open-name").value, epsilon: Number(by("open-epsilon").value), delta: Number(by("open-delta").value), queries: Number(by("open-queries").value), ...(edges ? { expected_edges: Number(edges) } : {}) };
}

function pairsOfLevel() {
  const [side, index] = by("level").value.split(".").map(Number);
  const left = graph.groups[side][index];
  const right = graph.groups.length > 1 ? graph.groups[1][Math.min(index, graph.groups[1].length - 1)] : left;
  const mark = (levels, level, name) => (levels.length > 1 ? `@${level.level}:${name}` : `@${name}`);
  const pairs = [];
  left.names.forEach((from, i) => right.names.forEach((to, j) => {
    if (graph.groups.length > 1 || graph.directed || j >= i)
      pairs.push({ i, j, query: { S: [mark(graph.groups[0], left, from)], T: [mark(graph.groups.at(-1), right, to)] } });
  }));
  return { left, right, pairs };
}

function showFlows({ left, right, pairs }, answers) {
  const values = new Map();
  pairs.forEach(({ i, j }, index) => {
    values.set(`${i} ${j}`, answers[index]);
    if (graph.groups.length < 2 && !graph.directed) values.set(`${j} ${i}`, answers[index]);
  });
  const most = Math.max(1, ...answers.map((answer) => answer.value));
  const cell = 64, edge = 110, width = edge + right.names.length * cell, height = 90 + left.names.length * 40;
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": "Heat map of the table between groups; each cell tells its number and its interval; all intervals hold at once" });
  const short = (name) => (name.length > 12 ? `${name.slice(0, 11)}…` : name);
  right.names.forEach((name, j) => picture.append(shape("text", { transform: `translate(${edge + j * cell + cell / 2} 84) rotate(-40)` }, short(name))));
  left.names.forEach((name, i) => {
    picture.append(shape("text", { x: edge - 8, y: 90 + i * 40 + 25, "text-anchor": "end" }, short(name)));
    right.names.forEach((other, j) => {
      const answer = values.get(`${i} ${j}`);
      const share = Math.sqrt(Math.max(0, answer.value) / most);
      const group = shape("g");
      group.append(shape("rect", { x: edge + j * cell + 1, y: 91 + i * 40, width: cell - 2, height: 38, rx: 3, fill: amountColour(share) }));
      const [low, high] = answer.interval;
      const middle = { x: edge + j * cell + cell / 2, "text-anchor": "middle" };
      group.append(shape("text", { ...middle, y: 90 + i * 40 + 18 }, small(answer.value)));
      // Intervals of a session hold all at once, so their ends are shown, and no half width.
      if (high !== null) group.append(shape("text", { ...middle, y: 90 + i * 40 + 33, class: "off" }, `${small(low)} to ${small(high)}`));
      for (const text of group.querySelectorAll("text")) text.style.fill = inkOn(amountColour(share));
      group.append(shape("title", {}, `${name} to ${other}: ${number(answer.value)}, between ${number(low)} and ${number(high)}`));
      picture.append(group);
    });
  });
  picture.style.maxWidth = "none";  // it scrolls
  by("flows-table").replaceChildren(picture);
}

async function start() {
  me = await signedIn("analyst");
  graph = await call("GET", "/v1/graph");
  const sample = await call("GET", "/v1/vertices?limit=1");
  labelsAreNumbers = typeof sample.labels[0] === "number";
  makeSide("S");
  makeSide("T");
  if (graph.groups.length) {
    by("flows").classList.remove("hidden");
    by("level").replaceChildren(...graph.groups[0].map((level, index) => element("option", { value: `0.${index}`, text: `${level.level}: ${number(level.names.length)} groups` })));
  }
  const pending = JSON.parse(sessionStorage.getItem(pendingKey()) || "null");
  await refresh(pending ? decodeURIComponent(pending.path.split("/")[3]) : null);
  if (pending) {
    try {
      const reply = await sendPending(pending);
      show(by("ask-note"), "The page was loaded again; here is the answer to what was asked.", "good");
      if (reply.answers.length === 1) showAnswer(reply.answers[0]);
    } catch (error) {
      show(by("ask-note"), error.message);
    }
    await refresh();
  }
  document.body.dataset.ready = "yes";
}

by("session").addEventListener("change", async (event) => {
  current = sessions.find((session) => session.id === event.target.value);
  showSession();
  await loadHistory();
});
by("forecast").addEventListener("click", (event) => guarded(by("open-note"), event.target, async () => {
  const forecast = await call("POST", "/v1/forecast", terms());
  show(by("open-note"), `${forecast.guarantee}. Answers within ${forecast.error === null ? "no bound" : small(forecast.error)}. ${forecast.warning || ""}`, forecast.warning ? "bad" : "");
}));
by("open").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(by("open-note"), event.submitter || by("forecast"), async () => {
    const session = await call("POST", "/v1/sessions", terms());
    show(by("open-note"), session.state === "waiting" ? "Asked for; the curator decides." : `The session is ${session.state}.`, "good");
    await refresh(session.id);
  });
});
by("cost").addEventListener("click", (event) => guarded(by("ask-note"), event.target, async () => {
  show(by("ask-note"), costText(await call("POST", path("/cost"), { queries: [asked()] })), "");
}));
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(by("ask-note"), by("send"), async () => {
    const reply = await answers([asked()]);
    show(by("ask-note"), reply.new ? "Answered." : "Answered from the record: free.", "good");
    showAnswer(reply.answers[0]);
    await refresh();
  });
});
by("flows-cost").addEventListener("click", (event) => guarded(by("flows-note"), event.target, async () => {
  const queries = pairsOfLevel().pairs.map((pair) => pair.query);
  show(by("flows-note"), costText(await call("POST", path("/cost"), { queries })), "");
}));
by("flows-ask").addEventListener("click", (event) => guarded(by("flows-note"), event.target, async () => {
  const table = pairsOfLevel();
  const reply = await answers(table.pairs.map((pair) => pair.query));
  show(by("flows-note"), `Answered; ${number(reply.new)} new.`, "good");
  showFlows(table, reply.answers);
  await refresh();
}));
by("older").addEventListener("click", (event) => guarded(by("ask-note"), event.target, () => loadHistory(items[0].number - 1)));
setInterval(() => {
  if (current?.state === "waiting" && !document.hidden) refresh().catch(() => null);
}, 5000);

window.addEventListener("resize", () => showHistory());

start().catch((error) => show(by("session-note"), error.message));
