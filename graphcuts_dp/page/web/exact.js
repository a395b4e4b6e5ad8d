// The forecast of a dry run: who is protected, how exact it is, what it uses up; and the confirmation.
import { busy, element, facts, number, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { allFields, ask, by, keep, live, put, role, state, valueOf } from "/web/state.js";
import { outsideShare, outsideText, shareText, skips } from "/web/understood.js";

let asked = 0, latest = Promise.resolve(), reach = () => {}, started = () => {};
export const onReach = (work) => { reach = work; };
export const onStart = (work) => { started = work; };

const WEAK = 0.95; // what a guess that is as likely as not can become, above which the page warns
const epsilonKey = () => role("epsilon").key;
const place = () => Math.max(0, by("place").selectedIndex);

// A message with a way to where it can be mended.
export function refuse(target, problem) {
  show(target, `${problem.message[0].toUpperCase()}${problem.message.slice(1)}.`.replace(/\.\.$/, "."));
  offerStep(target, problem.body?.step);
}

// A button to the step of a name, if there is one.
export function offerStep(target, name) {
  const step = live.steps.find((each) => each.name === name);
  if (step && step.name !== state.step) target.append(" ", element("button", { type: "button", text: `Change it in “${step.title}”`, onclick: () => reach(step.name) }));
}

// Ask for a preview; the newest question alone counts.
export function foresee(error = "") {
  latest = preview(error);
  return latest;
}

// Wait for the answer to the newest question.
export async function settled() {
  for (let waited = null; waited !== latest; ) {
    waited = latest;
    await waited;
  }
}

async function preview(error) {
  const turn = ++asked;
  by("run").disabled = true;
  if (!state.source) return;
  if (!state.values[epsilonKey()]) put(epsilonKey(), "1");
  const body = { product: state.product, values: state.values, source: state.source, error, place: place() };
  const answer = await ask("preview", body).catch((problem) => ({ problem }));
  if (turn !== asked) return;
  live.preview = answer.problem ? null : answer;
  live.problem = answer.problem ?? null;
  if (live.preview && error) put(epsilonKey(), live.preview.epsilon);
  tell(error);
}

function tell(error) {
  const { preview, problem } = live;
  const open = ["out", "exact", "confirm"].includes(state.step);
  if (problem && open) refuse(by("missing"), problem);
  else if (open) show(by("missing"), "");
  document.body.setAttribute("data-preview", preview ? preview.epsilon : "none");
  dial(error);
  errors(error);
  simulate();
  by("why").textContent = preview ? `Protected is ${preview.unit_in_words}` : "";
  by("guarantee").textContent = preview?.guarantee ?? "";
  by("notes").replaceChildren(...(preview?.notes ?? []).map((text) => element("li", { text })));
  const weak = preview?.odds.some(({ prior, highest }) => prior <= 0.5 && highest > WEAK) ?? false;
  by("odds").className = weak ? "note bad" : "";
  by("odds").textContent = preview ? [weak ? "This is a weak guarantee." : "", ...preview.odds_in_words].filter(Boolean).join(" ") : "";
  left();
  confirmation();
}

// What is used up, beside what was used up before, with a budget or without one.
export const budgetText = ({ uses, used, total, after }) =>
  total === null ? `This uses up ${small(uses)}${used ? `, beside ${small(used)} that is used already` : ""}. There is no budget, so nothing limits all results together.` : `This uses up ${small(uses)} of a budget of ${small(total)}${used ? `, of which ${small(used)} is used already` : ""}; ${small(after)} is left for later results.`;

const priceText = ({ uses, used, total, refusal }) => {
  const spends = `This ${refusal ? "would spend" : "spends"} ${small(uses)}`;
  if (total !== null) return `${spends} of ${small(total)}${used ? `, of which ${small(used)} is used already` : ""}.`;
  return `${spends}${used ? `, beside ${small(used)} that is used already` : ""}. There is no budget, so nothing limits all results together.`;
};

function left() {
  const budget = live.preview?.budget;
  if (!budget) return show(by("left"), "");
  if (budget.refusal) return show(by("left"), `${budget.refusal[0].toUpperCase()}${budget.refusal.slice(1)}.`, "bad");
  show(by("left"), budgetText(budget), budget.total === null ? "" : "good");
}

function dial(error) {
  const value = Number(state.values[epsilonKey()]);
  if (error || document.activeElement !== by("epsilon")) by("epsilon").value = value;
  if (value > 0 && document.activeElement !== by("slider")) by("slider").value = Math.log10(value);
  const bound = live.preview?.errors[place()]?.bound;
  by("slider").setAttribute("aria-valuetext", `uses up ${value}${bound ? `, plus or minus ${small(bound)}` : ""}`);
}

function errors(error) {
  const list = live.preview?.errors ?? [], index = place();
  if (!list.length) return;
  by("error-word").textContent = isForecast() ? "About ±" : "± at most";
  by("place").replaceChildren(...list.map((each, i) => element("option", { text: each.of, selected: i === Math.min(index, list.length - 1) })));
  by("place").parentElement.classList.toggle("hidden", list.length < 2);
  if (!error && document.activeElement !== by("error")) by("error").value = Number(list[place()].bound.toPrecision(3));
}

// The same simulated numbers at every epsilon, so that what changes is the size of the noise.
const uniform = (i) => { const x = Math.sin(i * 12.9898 + 1) * 43758.5453; return x - Math.floor(x); };
const normal = (i) => Math.sqrt(-2 * Math.log(uniform(i) || 0.5)) * Math.cos(2 * Math.PI * uniform(i + 0.5));
// Names of simulated rows: of places, or of people where the file or its columns speak of these.
const PLACES = ["Northfield", "Eastbrook", "Oldtown", "Southgate", "Westhill", "Newport"];
const GROUPS = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn"].map((name) => `${name}\u2019s group`);
const OF_PEOPLE = /person|people|sender|receiver|recipient|caller|callee|mail|employee|staff|student|member|friend|payer|payee|absender|anrufer/i;
const ROWS = 5;

function simulatedNames() {
  const endpoints = live.names.filter((name) => name !== valueOf("person"));
  const file = state.source.split(/[\\/]/).pop();
  return [file, ...endpoints].some((name) => OF_PEOPLE.test(name)) ? GROUPS : PLACES;
}

// The share of numbers that are smaller than their ±, if the true ones are like the simulated ones.
const STEPS_OF_SHARE = 64;
const below = (x) => { // of a standard normal; Abramowitz and Stegun 26.2.17, to seven digits
  const t = 1 / (1 + 0.2316419 * Math.abs(x)), density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  const tail = density * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x < 0 ? tail : 1 - tail;
};
export function shareOfNoise(usual, { error, deviation }) {
  const each = (i) => usual * (0.25 + 1.5 * (i + 0.5) / STEPS_OF_SHARE);
  const hidden = (truth) => below((error - truth) / deviation) - below((-error - truth) / deviation);
  return Array.from({ length: STEPS_OF_SHARE }, (_, i) => hidden(each(i))).reduce((a, b) => a + b) / STEPS_OF_SHARE;
}

// What is said of the errors of a network: they are forecast on an invented one.
const FORECAST = "Each ± of a network is a forecast, made on an invented network with as many links. The result states its own, which may be larger.";
const isForecast = () => Boolean(live.preview?.questions);

// What is simulated: a number of a table; of a network the kind of number whose ± was chosen.
function pictured() {
  const picture = live.preview?.picture, question = live.preview?.questions?.[place()];
  if (!picture || !question) return picture;
  const error = live.preview.errors[place()].bound;
  return { cell: question.measures_about, error, deviation: error * picture.deviation / picture.error };
}

// How much of the table will be noise, in the words that the result has afterwards.
function forecastOfNoise() {
  const size = live.preview?.picture, usual = Number(by("cell").value);
  const share = size?.numbers && usual > 0 ? Math.round(100 * shareOfNoise(usual, size)) : null;
  const mostly = share > 50 ? ": most of this table will be noise. Larger areas, longer periods or more of the budget give clearer numbers" : "";
  const text = share === null ? "" : `If a number of yours is about ${number(usual, 0)}, of the ${size.numbers.toLocaleString("en")} numbers of the table about ${share} % will be smaller than their ± (${live.confidence})${mostly}.`;
  show(by("noise"), isForecast() ? FORECAST : text, mostly ? "bad" : "");
  show(by("noise-again"), mostly ? text : "", "bad");
}

export function simulate() {
  forecastOfNoise();
  const size = pictured();
  by("simulated").parentElement.classList.toggle("hidden", !size);
  by("cell").parentElement.classList.toggle("hidden", !size || size.cell !== null);
  if (!size) return;
  const usual = size.cell ?? Number(by("cell").value), names = simulatedNames();
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const truth = Math.round(usual * (0.25 + 1.5 * uniform(i))), noisy = truth + size.deviation * normal(i + 0.25);
    const clear = Math.abs(noisy) > size.error;
    return [`${names[i]} \u2192 ${names[i + 1]}`, number(truth, 0), `${number(noisy, 1)} ± ${number(size.error, 1)}`, clear ? `between ${number(Math.max(0, Math.ceil(noisy - size.error)), 0)} and ${number(Math.floor(noisy + size.error), 0)}` : `at most ${number(Math.max(0, Math.floor(noisy + size.error)), 0)}, perhaps nothing`];
  });
  by("simulated").tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((text, i) => element("td", { text, class: i === 1 || i === 2 ? "number" : "" })))));
}

export function confirmation() {
  const { preview, eyes } = live, budget = preview?.budget;
  const product = live.products[state.product];
  const bound = preview?.errors[place()];
  facts(by("summary"), preview ? [
    ["Private file", state.source],
    ["List of places", valueOf("places") || valueOf("names")],
    ["Columns", columns()],
    ...(role("direction") ? [[role("direction").label, role("direction").words[valueOf("direction") || "undirected"]]] : []),
    ...(valueOf("date") ? [["Months to report", valueOf("months")]] : []),
    ...(valueOf("date") && valueOf("date_format") ? [[role("date_format").label, valueOf("date_format")]] : []),
    ["Protected is", preview.unit_in_words],
    ...limit(),
    ...(role("bad_rows") ? [[role("bad_rows").label, role("bad_rows").words[valueOf("bad_rows")]]] : []),
    ["Comes out", product.title],
    ["How exact", bound ? `${bound.of}: ${isForecast() ? "about " : ""}± ${small(bound.bound)} (${live.confidence})${isForecast() ? ". This is a forecast: the result states its own ±, which may be larger" : ""}` : ""],
    ["Account", live.account ? `${live.account.charged.name}${live.account.charged.is_new ? ", new" : ""}` : ""],
    ["Budget", budget.total === null ? `none${budget.is_fixed ? "" : ", and none can be set later"}` : small(budget.total)],
  ] : []);
  const stops = eyes?.skipped > 0 && !skips();
  const mostOutside = outsideShare(eyes) > 0.5; // perhaps the months of another year
  by("doubt").classList.toggle("hidden", !(eyes?.skipped > 0) && !mostOutside);
  by("doubt-mend").classList.toggle("hidden", !stops && !mostOutside);
  mends(stops);
  if (eyes) by("doubt").querySelector("p").textContent = [eyes.skipped > 0 ? shareText(eyes) : "", mostOutside ? outsideText(eyes) : ""].filter(Boolean).join(" ");
  by("price").textContent = budget ? priceText(budget) : "";
  if (budget?.refusal && state.step === "confirm") refuseBudget();
  else if (account.unanswered() && state.step === "confirm") refuse(by("missing"), { message: "say first whether the people of this file are also in another account", body: { step: "exact" } });
  by("run").textContent = budget ? `Spend ${small(budget.uses)}, and start` : "Start";
  by("run").disabled = closed();
}

// Say why the account refuses, with a way to where it can be changed.
export const refuseBudget = () => refuse(by("missing"), { message: live.preview.budget.refusal, body: { step: "exact" } });

// Which column is read as what, as the second step showed it.
function columns() {
  const { names = [], means = [] } = live.looked?.sample ?? {};
  const shown = names.map((name, i) => `${means[i]}: ${name}`);
  return (shown.length ? shown : ["from", "to", "person", "date"].filter(valueOf).map((name) => `${name}: ${valueOf(name)}`)).join(", ") || "found by their names";
}

// How much of each counts, as it was typed.
const limits = () => (role("unit")?.kinds[valueOf("unit")] ?? []).filter((field) => ["most_rows", "most_links"].includes(field.role));
const limit = () => limits().map((field) => [field.label, state.values[field.key] ?? ""]);

// Whether all limits are typed; the first empty field says what is missing, and has the focus.
export function limitsTyped() {
  const empty = limits().filter((field) => !(state.values[field.key] ?? "").trim());
  for (const field of limits()) show(by(`f-${field.key}-note`), empty.includes(field) ? "Type a number, for example 20." : "", empty.includes(field) ? "bad" : "");
  if (empty.length) by(`f-${empty[0].key}`).focus();
  return !empty.length;
}

// Whether nothing can be spent: there is no preview, the budget does not allow it, or the run would stop at a row.
const closed = () => !live.preview || account.unanswered() || Boolean(live.preview.budget.refusal) || (live.eyes?.skipped > 0 && !skips());

// Ways out where the run would stop at rows that cannot be used.
function mends(stops) {
  const leave = () => { put(role("bad_rows").key, "skip"); foresee(); };
  const change = { type: "button", text: "See why, and change it", onclick: () => reach("check") };
  by("doubt-mend").replaceChildren(element("button", change), ...(stops && live.eyes.share < 1 && !live.eyes.mend_first ? [element("button", { type: "button", text: live.eyes.skipped === 1 ? "Leave it out" : "Leave them out", onclick: leave })] : []));
}

async function begin() {
  await busy(by("run"), async () => {
    const body = { product: state.product, values: state.values, source: state.source, confirmed: live.preview.epsilon, answers: state.answers, separate: account.isSeparate() };
    const { run } = await ask("start", body);
    await started(run);
  }).catch((problem) => refuse(by("missing"), problem));
  by("run").disabled = closed();
}

// Propose, unless somebody chose: a person if a column names people, a row if rows have dates, else a link.
export function proposeUnit() {
  const unit = role("unit");
  if (state.values[unit.key] && state.proposed[unit.key] !== state.values[unit.key]) return;
  const proposed = live.units[["person", "date"].find(valueOf) ?? ""];
  state.proposed[unit.key] = proposed;
  put(unit.key, proposed);
}

// Empty the fields that stand outside of the form of a step, and what was said of a former file.
export function empty() {
  for (const id of ["error", "epsilon"]) by(id).value = "";
  by("cell").value = by("cell").defaultValue;
  Object.assign(live, { preview: null, problem: null });
  questions();
}

export function showCount() {
  const unit = role("unit"), chosen = state.values[unit.key];
  const own = (unit.kinds[chosen] ?? []).filter((field) => field.step === "count" && field.shown);
  by("nothing-to-count").textContent = own.length ? "" : "Each counts once, so there is nothing to decide here.";
  by("bound").classList.toggle("hidden", !own.some((field) => field.role === "most_rows"));
}

export function listen() {
  const epsilon = (value) => { put(epsilonKey(), value); foresee(); };
  by("slider").addEventListener("input", (event) => { const value = String(Number((10 ** event.target.value).toPrecision(2))); by("epsilon").value = value; epsilon(value); });
  by("epsilon").addEventListener("input", (event) => epsilon(event.target.value));
  by("error").addEventListener("change", (event) => foresee(event.target.value));
  by("place").addEventListener("change", () => tell(""));
  by("cell").addEventListener("input", simulate);
  by("run").addEventListener("click", begin);
}

// Questions of the report, which anybody may leave open.
export function questions() {
  by("answers").replaceChildren(...live.questions.map(({ key, text, most }) => {
    const id = `answer-${key}`;
    const set = (event) => { state.answers[key] = event.target.value; keep(); };
    return element("div", { class: "field" }, element("label", { for: id, text }), element("input", { id, type: "text", maxlength: most, autocomplete: "off", value: state.answers[key] ?? "", oninput: set }));
  }));
}

// Radio buttons of what can come out.
export function products(choose) {
  const offered = Object.entries(live.products).filter(([, each]) => each.offered);
  by("products").replaceChildren(...offered.map(([name, each]) =>
    element("label", {}, element("input", { type: "radio", name: "product", value: name, checked: name === state.product, onchange: () => choose(name) }), element("span", { text: each.title }))));
}

// What was typed of one kind of result is put aside for it, and is nothing to another kind.
const ofResult = (field) => field.step === "out" || field.key === "delta";

export function choose(name) {
  const own = new Set(allFields().filter(ofResult).map((field) => field.key)), kept = {}, others = {};
  for (const [key, value] of Object.entries(state.values)) (own.has(key) ? kept : others)[key] = value;
  state.aside[state.product] = kept;
  state.product = name;
  state.values = { ...live.products[name].preset, ...others, ...(state.aside[name] ?? {}) };
  by("error").value = "";
  keep();
}

