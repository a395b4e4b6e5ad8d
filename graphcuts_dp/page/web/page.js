// The curator's page: a form made of what the server tells of its options, runs and their results.
import { busy, call, element, fill, number, shape, show, small } from "/page/shared.js";

const by = (id) => document.getElementById(id);
const KEPT = "graphcuts-page"; // in this tab, so that a reload loses nothing
const STEPS = ["is", "whom", "out", "exact"];
const state = { token: "", product: "table", values: {}, source: "", run: null };
let products = {}, confidence = "", preview = null, asked = 0, timer = 0;

const bearer = () => ({ Authorization: `Bearer ${state.token}` });
const ask = (name, body = {}) => call("POST", `/api/${name}`, body, bearer());
const keep = () => sessionStorage.setItem(KEPT, JSON.stringify(state));
const fields = () => products[state.product].fields;
const role = (name) => fields().find((each) => each.role === name);

function set(key, value) {
  if (value === "") delete state.values[key];
  else state.values[key] = value;
  keep();
  settle();
  clearTimeout(timer);
  timer = setTimeout(() => Promise.all([columns(), foresee()]), 300);
}

// One field, from its description.
function input(field) {
  const id = `f-${field.key}`, value = state.values[field.key] ?? "";
  const shared = { id, "aria-describedby": `${id}-hint`, "data-key": field.key };
  const typed = { ...shared, value, autocomplete: "off", oninput: (event) => set(field.key, event.target.value), placeholder: field.default ?? "" };
  if (field.control === "check") return element("input", { ...shared, type: "checkbox", checked: value === "yes", onchange: (event) => set(field.key, event.target.checked ? "yes" : "") });
  if (field.control === "choice") {
    const chosen = (event) => set(field.key, event.target.value);
    const usual = field.default ? `usual: ${field.default}` : field.required ? "choose" : "as usual";
    return element("select", { ...shared, onchange: chosen }, ...["", ...field.choices].map((each) => element("option", { value: each, selected: each === value, text: each || usual })));
  }
  if (field.control === "number") return element("input", { ...typed, type: "number", step: field.integer ? 1 : "any", min: field.least, max: field.most });
  return element("input", { ...typed, type: "text", spellcheck: "false", list: field.control === "column" ? "columns" : null });
}

// Where a file is named that is read, it may be dropped, too.
function dropped(field) {
  const into = async (event) => {
    const path = await upload(event.target.files[0]).catch((error) => show(by("missing"), error.message));
    if (path) by(`f-${field.key}`).value = path;
    if (path) set(field.key, path);
  };
  return element("input", { type: "file", "aria-label": `Or drop the file: ${field.label}`, onchange: into });
}

function one(field) {
  const id = `f-${field.key}`;
  const flag = element("code", { text: ` ${field.flag}` });
  const label = element("label", { for: id }, `${field.label}${field.required ? " (needed)" : ""}`);
  const hint = element("span", { class: "hint", id: `${id}-hint` }, field.help, flag);
  return element("div", { class: "field" }, label, input(field), ...(field.read ? [dropped(field)] : []), hint);
}

// The fields of an object of options: of a choice of kinds those of the chosen one.
function part(field) {
  const chosen = field.named ? (state.values[field.key] ?? "") : "";
  const inner = field.kinds[chosen] ?? [];
  const usual = inner.filter((each) => field.named || each.usual);
  const rest = inner.filter((each) => !usual.includes(each));
  const box = element("fieldset", { class: "part" }, element("legend", { text: field.label }), element("p", { class: "hint", text: field.help }));
  if (field.named) {
    const names = Object.keys(field.kinds);
    const id = `f-${field.key}`;
    const again = (event) => { set(field.key, event.target.value); box.replaceWith(part(field)); by(id).focus(); };
    box.append(element("label", { for: id, text: "kind" }), element("select", { id, "data-key": field.key, onchange: again }, ...["", ...names].map((each) => element("option", { value: each, selected: each === chosen, text: each || "as usual" }))));
  }
  box.append(...grid(usual, rest));
  return box;
}

function grid(usual, rest) {
  const row = (list) => element("div", { class: "row wide-row" }, ...list.map((each) => (each.kinds ? part(each) : one(each))));
  const more = element("details", {}, element("summary", { text: "More options" }), row(rest));
  return [row(usual), ...(rest.length ? [more] : [])];
}

function draw() {
  by("products").replaceChildren(...Object.entries(products).map(([name, each]) =>
    element("label", {}, element("input", { type: "radio", name: "product", value: name, checked: name === state.product, onchange: () => choose(name) }), ` ${each.title} `, element("span", { class: "hint", text: each.about }))));
  for (const step of STEPS) {
    const own = fields().filter((each) => each.step === step && each.role !== "epsilon");
    by(step).replaceChildren(...grid(own.filter((each) => each.usual), own.filter((each) => !each.usual)));
  }
  settle();
}

function choose(name) {
  state.product = name;
  state.values = { ...products[name].preset, ...state.values };
  by("error").value = "";
  keep();
  draw();
  foresee();
}

// A step is open once what the steps before it need is there.
function settle() {
  let open = Boolean(state.source);
  for (const step of STEPS) {
    by(step).disabled = !open;
    const needed = fields().filter((each) => each.step === step && each.required && !each.kinds);
    open = open && (step === "exact" || needed.every((each) => state.values[each.key]));
  }
}

async function columns() {
  try {
    const { names } = await ask("head", { path: state.source, values: state.values });
    by("columns").replaceChildren(...names.map((name) => element("option", { value: name })));
    show(by("head"), names.length ? `Columns: ${names.join(", ")}. If these are no names but a row, say so: "header" under More options.` : "Its first line is not read as names: columns go by their numbers, if it has any.", "good");
    return true;
  } catch (error) {
    show(by("head"), error.message);
    return false;
  }
}

const storeOf = (path) => `${path.split(/[\\/]/).pop()}.db`;

async function look() {
  const before = state.source;
  state.source = by("source").value.trim();
  if (state.source && !(await columns())) state.source = "";
  const store = role("store").key, named = state.values[store];
  // A store that a person has named stays; one that was called after another file does not.
  if (state.source && (!named || named === storeOf(before))) {
    state.values[store] = storeOf(state.source);
    draw();
  }
  keep();
  settle();
  await foresee();
}

async function upload(file) {
  if (!file) return "";
  const reply = await fetch(`/api/upload/${encodeURIComponent(file.name)}`, { method: "POST", headers: bearer(), body: file });
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.detail);
  return found.path;
}

async function take(file) {
  const path = await upload(file).catch((error) => show(by("head"), error.message));
  if (path) by("source").value = path;
  if (path) await look();
}

// What a dry run says; the newest question alone counts.
async function foresee(error = "") {
  const turn = ++asked, key = role("epsilon").key;
  by("run").disabled = true;
  if (!state.source) return show(by("missing"), "");
  if (!state.values[key]) state.values[key] = "1";
  const place = Math.max(0, by("place").selectedIndex);
  const body = { product: state.product, values: state.values, error, place };
  const found = await ask("preview", body).catch((problem) => ({ problem: problem.message }));
  if (turn !== asked) return;
  preview = found.problem ? null : found;
  if (found.problem) show(by("missing"), found.problem);
  else show(by("missing"), `The command will guarantee: ${found.guarantee}.`, "good");
  if (preview && error) state.values[key] = String(preview.epsilon);
  by("run").disabled = !preview;
  dial();
  keep();
  tell(error);
  const { spent, store } = await ask("spent", body).catch(() => ({ spent: null, store: "" }));
  if (turn === asked) by("spent").textContent = store && spentText(spent);
}

function spentText(spent) {
  if (!spent) return "The store is new: nothing was spent on these data. A budget caps all uses together, for ever.";
  const of = spent.budget ? `of a budget of ${spent.budget}: ${small(spent.left)} is left` : "without a budget";
  const delta = spent.delta ? `, delta = ${small(spent.delta)}` : "";
  const uses = spent.uses.map((each) => `${each.kind} ${small(each.guarantee.epsilon)}`).join(", ");
  return `Spent so far: epsilon = ${small(spent.epsilon)}${delta}, ${of} (${uses}).`;
}

function dial() {
  const value = Number(state.values[role("epsilon").key]);
  if (document.activeElement !== by("epsilon")) by("epsilon").value = value;
  if (value > 0) by("slider").value = Math.log10(value);
  by("slider").setAttribute("aria-valuetext", `epsilon ${value}`);
}

function tell(error) {
  const place = by("place"), index = Math.max(0, place.selectedIndex);
  by("protected").textContent = preview ? `Who is protected: ${preview.unit_in_words}` : "";
  by("notes").replaceChildren(...(preview?.notes ?? []).map((text) => element("li", { text })));
  const errors = preview?.errors ?? [];
  if (errors.length) {
    place.replaceChildren(...errors.map((each, i) => element("option", { text: each.of, selected: i === Math.min(index, errors.length - 1) })));
    if (!error) by("error").value = Number(errors[Math.min(index, errors.length - 1)].bound.toPrecision(3));
  }
  paint();
}

// The same made numbers at every epsilon, so that what changes is the size of the noise.
const made = (i) => { const x = Math.sin(i * 12.9898 + 1) * 43758.5453; return x - Math.floor(x); };
const normal = (i) => Math.sqrt(-2 * Math.log(made(i) || 0.5)) * Math.cos(2 * Math.PI * made(i + 0.5));

function paint() {
  by("picture").replaceChildren();
  const size = preview?.picture;
  if (!size) return;
  const side = Math.min(12, size.side), cell = size.cell ?? Number(by("cell").value), noise = size.deviation;
  by("cell").parentElement.classList.toggle("hidden", size.cell !== null);
  const cells = Array.from({ length: side * side }, (_, at) => {
    const i = Math.floor(at / side), j = at % side, truth = cell * (i === j ? 2.5 : 0.3 + 1.2 * made(at));
    return [i, j, truth, truth + noise * normal(at + 0.25)];
  });
  const top = Math.max(...cells.map((each) => Math.max(each[2], each[3]))), step = 160 / side;
  const label = `A made ${size.what} of ${side} x ${side}, and the same with noise of about ${small(size.error)} (${confidence})`;
  const picture = shape("svg", { viewBox: "0 0 344 182", width: 420, role: "img", "aria-label": label });
  for (const [i, j, ...both] of cells)
    both.forEach((value, k) => {
      const shade = Math.max(0, Math.min(1, value / top));
      const spot = shape("rect", { class: "cell", x: k * 180 + j * step, y: i * step, width: step, height: step, fill: `hsl(212 70% ${96 - 66 * shade}%)` });
      spot.append(shape("title", {}, number(value)));
      picture.append(spot);
    });
  ["made up", "with this noise"].forEach((text, k) => picture.append(shape("text", { x: k * 180, y: 177 }, text)));
  by("picture").append(picture, element("p", { class: "hint", text: `${label}. No private number is in it.` }));
}

async function begin() {
  await busy(by("run"), async () => {
    try {
      const { run } = await ask("start", { product: state.product, values: state.values, source: state.source });
      await follow(run);
    } catch (error) {
      show(by("missing"), error.message);
    }
  });
}

async function resume() {
  await busy(by("resume"), async () => {
    const { run } = await ask("resume", { run: state.run });
    await follow(run);
  }).catch(failed);
}

async function follow(run) {
  state.run = run;
  keep();
  by("result").classList.remove("hidden");
  for (const id of ["files", "shown", "pictures", "compared"]) by(id).replaceChildren();
  for (const id of ["truth", "resume"]) by(id).classList.add("hidden");
  by("reveal").checked = false;
  let status;
  for (;;) {
    status = await ask("run", { run });
    if (state.run !== run) return;
    by("result-title").textContent = `${status.title}, ${status.time}`;
    by("command").textContent = status.command;
    by("progress").classList.toggle("hidden", status.state !== "running");
    if (status.state !== "running") break;
    by("progress").value = status.done;
    show(by("state"), `At work: ${status.message || "reading"}. You may close this page: the run goes on.`, "");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const good = status.state === "done";
  const left = good ? spentText(status.spent) : "";
  show(by("state"), [...status.errors, status.message, good ? `Made. All files below may be published. ${left}` : ""].filter(Boolean).join(" "), good ? "good" : "bad");
  if (good) await open(run, status);
  by("resume").classList.toggle("hidden", status.state !== "lost");
  by("notes-of-run").replaceChildren(...status.notes.map((text) => element("li", { text })));
  by("result").setAttribute("data-run", `${run} ${status.state}`);
  past();
  await foresee(); // what is left of the budget
}

async function open(run, status) {
  by("shown").innerHTML = status.html; // made by our own server, every text escaped
  const names = [...status.files, "report.html", "notebook.ipynb"];
  by("files").append(...names.map((name) => element("button", { type: "button", text: name, onclick: () => download(run, name) })));
  by("truth").classList.toggle("hidden", !status.truth);
  for (const name of status.files.filter((each) => each.endsWith(".png")))
    by("pictures").append(element("img", { alt: name, src: URL.createObjectURL(await file(run, name)) }));
}

async function file(run, name) {
  const reply = await fetch(`/api/file/${encodeURIComponent(run)}/${encodeURIComponent(name)}`, { headers: bearer() });
  return reply.blob();
}

async function download(run, name) {
  const link = element("a", { href: URL.createObjectURL(await file(run, name)), download: name });
  link.click();
}

async function reveal(event) {
  by("compared").textContent = "";
  if (!event.target.checked) return;
  const { text } = await ask("truth", { run: state.run }).catch((error) => ({ text: error.message }));
  by("compared").textContent = text;
}

async function past() {
  const found = await ask("runs");
  fill(by("past"), found.map((each) => [
    each.time,
    each.title,
    { number: small(each.epsilon) },
    each.state,
    element("button", { type: "button", text: "Open", "aria-label": `Open ${each.title} of ${each.time}`, onclick: () => follow(each.run).catch(failed) }),
  ]));
}

const failed = (error) => show(by("problem"), error.message);

function listen() {
  by("source").addEventListener("change", look);
  by("upload").addEventListener("change", (event) => take(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    by("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      by("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") take(event.dataTransfer.files[0]);
    });
  const epsilon = (value) => { by("error").value = ""; set(role("epsilon").key, value); };
  by("slider").addEventListener("input", (event) => { const value = String(Number((10 ** event.target.value).toPrecision(2))); by("epsilon").value = value; epsilon(value); });
  by("epsilon").addEventListener("input", (event) => epsilon(event.target.value));
  by("error").addEventListener("change", (event) => foresee(event.target.value));
  by("place").addEventListener("change", () => tell(""));
  by("cell").addEventListener("input", paint);
  by("run").addEventListener("click", begin);
  by("resume").addEventListener("click", resume);
  by("reveal").addEventListener("change", reveal);
}

async function arrive() {
  Object.assign(state, JSON.parse(sessionStorage.getItem(KEPT) ?? "{}"));
  if (location.hash.length > 1) {
    state.token = location.hash.slice(1);
    history.replaceState(null, "", "/");
  }
  keep();
  ({ products, confidence } = await ask("form"));
  by("confidence").textContent = confidence;
  state.values = { ...products[state.product].preset, ...state.values };
  by("source").value = state.source;
  draw();
  listen();
  await past();
  if (state.source) await look();
  if (state.run) follow(state.run).catch(failed);
  document.body.setAttribute("data-ready", "yes");
}

arrive().catch(failed);
