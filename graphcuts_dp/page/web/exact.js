// The preview of a run: its guarantee, its errors and its price; and the confirmation.
import { busy, element, facts, number, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { badRowsText, outsideShare, outsideText, skipsBadRows } from "/web/private_file.js";
import { allFields, byId, fieldOfRole, post, save, setValue, state, unsaved, valueOfRole } from "/web/state.js";

const WEAK_ODDS = 0.95; // the page warns if a guess of probability 1/2 can become surer than this

let previewNumber = 0; // replies to earlier previews are ignored
let latestPreview = Promise.resolve();
let goToStep = () => {}, onStart = () => {};
export const setStepListener = (listener) => { goToStep = listener; };
export const setStartListener = (listener) => { onStart = listener; };

const epsilonKey = () => fieldOfRole("epsilon").key;
const errorIndex = () => Math.max(0, byId("place").selectedIndex); // of the error that is shown

// Shows a refusal, with a button to the step at which its cause can be changed.
export function showRefusal(target, problem) {
  show(target, `${problem.message[0].toUpperCase()}${problem.message.slice(1)}.`.replace(/\.\.$/, "."));
  offerStep(target, problem.body?.step);
}

// Adds a button to another step, if there is one of this name.
export function offerStep(target, name) {
  const step = unsaved.steps.find((candidate) => candidate.name === name);
  if (step && step.name !== state.step) target.append(" ", element("button", { type: "button", text: `Change it in “${step.title}”`, onclick: () => goToStep(step.name) }));
}

// Asks for a preview, at the epsilon for an error if one is typed.
export function startPreview(error = "") {
  latestPreview = loadPreview(error);
  return latestPreview;
}

// Waits for the latest preview, also if another one begins meanwhile.
export async function waitForPreview() {
  let awaitedPreview;
  do {
    awaitedPreview = latestPreview;
    await awaitedPreview;
  } while (awaitedPreview !== latestPreview);
}

async function loadPreview(error) {
  const number = ++previewNumber;
  byId("run").disabled = true;
  if (!state.source) return;
  if (!state.values[epsilonKey()]) setValue(epsilonKey(), "1");
  const body = { product: state.product, values: state.values, source: state.source, error, error_index: errorIndex() };
  const reply = await post("preview", body).catch((problem) => ({ problem }));
  if (number !== previewNumber) return;
  unsaved.preview = reply.problem ? null : reply;
  unsaved.problem = reply.problem ?? null;
  if (unsaved.preview && error) setValue(epsilonKey(), unsaved.preview.epsilon);
  showPreview(error);
}

function showPreview(error) {
  const { preview, problem } = unsaved;
  const isShown = ["out", "exact", "confirm"].includes(state.step);
  if (problem && isShown) showRefusal(byId("missing"), problem);
  else if (isShown) show(byId("missing"), "");
  document.body.setAttribute("data-preview", preview ? preview.epsilon : "none");
  showEpsilon(error);
  showErrors(error);
  showSimulatedTable();
  byId("why").textContent = preview ? `Protected is ${preview.unit_in_words}` : "";
  byId("guarantee").textContent = preview?.guarantee ?? "";
  byId("notes").replaceChildren(...(preview?.notes ?? []).map((text) => element("li", { text })));
  const isWeak = preview?.odds.some(({ prior, highest }) => prior <= 0.5 && highest > WEAK_ODDS) ?? false;
  byId("odds").className = isWeak ? "note bad" : "";
  byId("odds").textContent = preview ? [isWeak ? "This is a weak guarantee." : "", ...preview.odds_in_words].filter(Boolean).join(" ") : "";
  showBudget();
  showConfirmation();
}

// A sentence on the price of a use, with a budget or without one.
export const budgetText = ({ uses, used, total, after }) =>
  total === null ? `This uses up ${small(uses)}${used ? `, beside ${small(used)} that is used already` : ""}. There is no budget, so nothing limits all results together.` : `This uses up ${small(uses)} of a budget of ${small(total)}${used ? `, of which ${small(used)} is used already` : ""}; ${small(after)} is left for later results.`;

// The same sentence for the confirmation.
const priceText = ({ uses, used, total, refusal }) => {
  const beginning = `This ${refusal ? "would spend" : "spends"} ${small(uses)}`;
  if (total !== null) return `${beginning} of ${small(total)}${used ? `, of which ${small(used)} is used already` : ""}.`;
  return `${beginning}${used ? `, beside ${small(used)} that is used already` : ""}. There is no budget, so nothing limits all results together.`;
};

function showBudget() {
  const budget = unsaved.preview?.budget;
  if (!budget) return show(byId("left"), "");
  if (budget.refusal) return show(byId("left"), `${budget.refusal[0].toUpperCase()}${budget.refusal.slice(1)}.`, "bad");
  show(byId("left"), budgetText(budget), budget.total === null ? "" : "good");
}

// Shows epsilon in its fields, but not in the one that is typed into.
function showEpsilon(error) {
  const value = Number(state.values[epsilonKey()]);
  if (error || document.activeElement !== byId("epsilon")) byId("epsilon").value = value;
  if (value > 0 && document.activeElement !== byId("slider")) byId("slider").value = Math.log10(value);
  const bound = unsaved.preview?.errors[errorIndex()]?.bound;
  byId("slider").setAttribute("aria-valuetext", `uses up ${value}${bound ? `, plus or minus ${small(bound)}` : ""}`);
}

function showErrors(error) {
  const errors = unsaved.preview?.errors ?? [], index = errorIndex();
  if (!errors.length) return;
  byId("error-word").textContent = isForecast() ? "About ±" : "± at most";
  byId("place").replaceChildren(...errors.map(({ of }, i) => element("option", { text: of, selected: i === Math.min(index, errors.length - 1) })));
  byId("place").parentElement.classList.toggle("hidden", errors.length < 2);
  if (!error && document.activeElement !== byId("error")) byId("error").value = Number(errors[errorIndex()].bound.toPrecision(3));
}

// Simulated numbers are the same at every epsilon, so that only the size of the noise changes.
const uniform = (i) => { const x = Math.sin(i * 12.9898 + 1) * 43758.5453; return x - Math.floor(x); };
const normal = (i) => Math.sqrt(-2 * Math.log(uniform(i) || 0.5)) * Math.cos(2 * Math.PI * uniform(i + 0.5));
// Names of simulated rows: people if the name of the file or of a column is about people, else places.
const PLACES = ["Northfield", "Eastbrook", "Oldtown", "Southgate", "Westhill", "Newport"];
const GROUPS = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn"].map((name) => `${name}\u2019s group`);
const PEOPLE = /person|people|sender|receiver|recipient|caller|callee|mail|employee|staff|student|member|friend|payer|payee|absender|anrufer/i;
const ROWS = 5;

function simulatedNames() {
  const endpoints = unsaved.names.filter((name) => name !== valueOfRole("person"));
  const file = state.source.split(/[\\/]/).pop();
  return [file, ...endpoints].some((name) => PEOPLE.test(name)) ? GROUPS : PLACES;
}

const TRUTHS = 64; // true numbers over which the share of noise is a mean
// The distribution function of a standard normal; Abramowitz and Stegun 26.2.17, to seven digits.
const normalBelow = (x) => {
  const t = 1 / (1 + 0.2316419 * Math.abs(x)), density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  const tail = density * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x < 0 ? tail : 1 - tail;
};
// The share of noisy numbers that are smaller than their ±, if true numbers are spread as the
// simulated ones: evenly from 1/4 to 7/4 of the usual number.
export function shareOfNoise(usual, { error, deviation }) {
  const truth = (i) => usual * (0.25 + 1.5 * (i + 0.5) / TRUTHS);
  const chance = (x) => normalBelow((error - x) / deviation) - normalBelow((-error - x) / deviation);
  return Array.from({ length: TRUTHS }, (_, i) => chance(truth(i))).reduce((a, b) => a + b) / TRUTHS;
}

// Errors of a network are no bounds: they are forecast on an invented network.
const FORECAST = "Each ± of a network is a forecast, made on an invented network with as many links. The result states its own, which may be larger.";
const isForecast = () => Boolean(unsaved.preview?.questions);

// The error and the deviation of the noise to simulate: of a number of the table; for a network, of
// the kind of number whose ± is shown.
function simulatedNoise() {
  const picture = unsaved.preview?.picture, question = unsaved.preview?.questions?.[errorIndex()];
  if (!picture || !question) return picture;
  const error = unsaved.preview.errors[errorIndex()].bound;
  return { cell: question.measures_about, error, deviation: error * picture.deviation / picture.error };
}

// Shows the share of the table that will be noise, as the result reports it afterwards.
function showShareOfNoise() {
  const noise = unsaved.preview?.picture, usual = Number(byId("cell").value);
  const share = noise?.numbers && usual > 0 ? Math.round(100 * shareOfNoise(usual, noise)) : null;
  const mostly = share > 50 ? ": most of this table will be noise. Larger areas, longer periods or more of the budget give clearer numbers" : "";
  const text = share === null ? "" : `If a number of yours is about ${number(usual, 0)}, of the ${noise.numbers.toLocaleString("en")} numbers of the table about ${share} % will be smaller than their ± (${unsaved.confidence})${mostly}.`;
  show(byId("noise"), isForecast() ? FORECAST : text, mostly ? "bad" : "");
  show(byId("noise-again"), mostly ? text : "", "bad");
}

function showSimulatedTable() {
  showShareOfNoise();
  const noise = simulatedNoise();
  byId("simulated").parentElement.classList.toggle("hidden", !noise);
  byId("cell").parentElement.classList.toggle("hidden", !noise || noise.cell !== null);
  if (!noise) return;
  const usual = noise.cell ?? Number(byId("cell").value), names = simulatedNames();
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const truth = Math.round(usual * (0.25 + 1.5 * uniform(i))), noisy = truth + noise.deviation * normal(i + 0.25);
    const isClear = Math.abs(noisy) > noise.error;
    return [`${names[i]} \u2192 ${names[i + 1]}`, number(truth, 0), `${number(noisy, 1)} ± ${number(noise.error, 1)}`, isClear ? `between ${number(Math.max(0, Math.ceil(noisy - noise.error)), 0)} and ${number(Math.floor(noisy + noise.error), 0)}` : `at most ${number(Math.max(0, Math.floor(noisy + noise.error)), 0)}, perhaps nothing`];
  });
  byId("simulated").tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((text, i) => element("td", { text, class: i === 1 || i === 2 ? "number" : "" })))));
}

export function showConfirmation() {
  const { preview, rowCounts } = unsaved, budget = preview?.budget;
  const product = unsaved.products[state.product];
  const error = preview?.errors[errorIndex()];
  facts(byId("summary"), preview ? [
    ["Private file", state.source],
    ["List of places", valueOfRole("places") || valueOfRole("names")],
    ["Columns", columnsText()],
    ...(fieldOfRole("direction") ? [[fieldOfRole("direction").label, fieldOfRole("direction").words[valueOfRole("direction") || "undirected"]]] : []),
    ...(valueOfRole("date") ? [["Months to report", valueOfRole("months")]] : []),
    ...(valueOfRole("date") && valueOfRole("date_format") ? [[fieldOfRole("date_format").label, valueOfRole("date_format")]] : []),
    ["Protected is", preview.unit_in_words],
    ...limits().map((field) => [field.label, state.values[field.key] ?? ""]),
    ...(fieldOfRole("bad_rows") ? [[fieldOfRole("bad_rows").label, fieldOfRole("bad_rows").words[valueOfRole("bad_rows")]]] : []),
    ["Comes out", product.title],
    ["How exact", error ? `${error.of}: ${isForecast() ? "about " : ""}± ${small(error.bound)} (${unsaved.confidence})${isForecast() ? ". This is a forecast: the result states its own ±, which may be larger" : ""}` : ""],
    ["Account", unsaved.account ? `${unsaved.account.charged.name}${unsaved.account.charged.is_new ? ", new" : ""}` : ""],
    ["Budget", budget.total === null ? `none${budget.is_fixed ? "" : ", and none can be set later"}` : small(budget.total)],
  ] : []);
  const stops = rowCounts?.skipped > 0 && !skipsBadRows();
  const mostOutside = outsideShare(rowCounts) > 0.5; // perhaps the months of another year
  byId("doubt").classList.toggle("hidden", !(rowCounts?.skipped > 0) && !mostOutside);
  byId("doubt-mend").classList.toggle("hidden", !stops && !mostOutside);
  offerCorrections(stops);
  if (rowCounts) byId("doubt").querySelector("p").textContent = [rowCounts.skipped > 0 ? badRowsText(rowCounts) : "", mostOutside ? outsideText(rowCounts) : ""].filter(Boolean).join(" ");
  byId("price").textContent = budget ? priceText(budget) : "";
  if (budget?.refusal && state.step === "confirm") showBudgetRefusal();
  else if (account.isUnanswered() && state.step === "confirm") showRefusal(byId("missing"), { message: "say first whether the people of this file are also in another account", body: { step: "exact" } });
  byId("run").textContent = budget ? `Spend ${small(budget.uses)}, and start` : "Start";
  byId("run").disabled = isBlocked();
}

export const showBudgetRefusal = () => showRefusal(byId("missing"), { message: unsaved.preview.budget.refusal, body: { step: "exact" } });

// The columns and their meanings, as the second step shows them.
function columnsText() {
  const { names = [], means = [] } = unsaved.reading?.sample ?? {};
  const columns = names.map((name, i) => `${means[i]}: ${name}`);
  return (columns.length ? columns : ["from", "to", "person", "date"].filter(valueOfRole).map((role) => `${role}: ${valueOfRole(role)}`)).join(", ") || "found by their names";
}

// The fields of the limits on how much of each person or place counts.
const limits = () => (fieldOfRole("unit")?.kinds[valueOfRole("unit")] ?? []).filter((field) => ["most_rows", "most_links"].includes(field.role));

// Returns true if all limits are typed; else the first empty field has a note and the focus.
export function areLimitsTyped() {
  const emptyFields = limits().filter((field) => !(state.values[field.key] ?? "").trim());
  for (const field of limits()) show(byId(`f-${field.key}-note`), emptyFields.includes(field) ? "Type a number, for example 20." : "", emptyFields.includes(field) ? "bad" : "");
  if (emptyFields.length) byId(`f-${emptyFields[0].key}`).focus();
  return !emptyFields.length;
}

// True if a run cannot start: there is no preview, a question is open, the budget refuses, or the run
// would stop at a bad row.
const isBlocked = () => !unsaved.preview || account.isUnanswered() || Boolean(unsaved.preview.budget.refusal) || (unsaved.rowCounts?.skipped > 0 && !skipsBadRows());

// Offers to change how the file is read, or to leave rows out at which the run would stop.
function offerCorrections(stops) {
  const skip = () => { setValue(fieldOfRole("bad_rows").key, "skip"); startPreview(); };
  const change = { type: "button", text: "See why, and change it", onclick: () => goToStep("check") };
  byId("doubt-mend").replaceChildren(element("button", change), ...(stops && unsaved.rowCounts.share < 1 && !unsaved.rowCounts.mend_first ? [element("button", { type: "button", text: unsaved.rowCounts.skipped === 1 ? "Leave it out" : "Leave them out", onclick: skip })] : []));
}

async function startRun() {
  await busy(byId("run"), async () => {
    const body = { product: state.product, values: state.values, source: state.source, confirmed: unsaved.preview.epsilon, answers: state.answers, separate: account.isSeparate() };
    const { run } = await post("start", body);
    await onStart(run);
  }).catch((problem) => showRefusal(byId("missing"), problem));
  byId("run").disabled = isBlocked();
}

// Suggests a privacy unit, unless one was chosen: a person if a column names people, a row if rows have
// dates, else a link.
export function suggestUnit() {
  const unit = fieldOfRole("unit");
  if (state.values[unit.key] && state.suggested[unit.key] !== state.values[unit.key]) return;
  const suggestion = unsaved.units[["person", "date"].find(valueOfRole) ?? ""];
  state.suggested[unit.key] = suggestion;
  setValue(unit.key, suggestion);
}

// Empties the fields that stand outside of forms, for another private file.
export function empty() {
  for (const id of ["error", "epsilon"]) byId(id).value = "";
  byId("cell").value = byId("cell").defaultValue;
  Object.assign(unsaved, { preview: null, problem: null });
  showQuestions();
}

// Shows whether the step about limits has any for the privacy unit, and the estimate of one.
export function showCount() {
  const unit = fieldOfRole("unit");
  const fields = (unit.kinds[state.values[unit.key]] ?? []).filter((field) => field.step === "count" && field.shown);
  byId("nothing-to-count").textContent = fields.length ? "" : "Each counts once, so there is nothing to decide here.";
  byId("bound").classList.toggle("hidden", !fields.some((field) => field.role === "most_rows"));
}

export function listen() {
  const setEpsilon = (value) => { setValue(epsilonKey(), value); startPreview(); };
  byId("slider").addEventListener("input", (event) => { const value = String(Number((10 ** event.target.value).toPrecision(2))); byId("epsilon").value = value; setEpsilon(value); });
  byId("epsilon").addEventListener("input", (event) => setEpsilon(event.target.value));
  byId("error").addEventListener("change", (event) => startPreview(event.target.value));
  byId("place").addEventListener("change", () => showPreview(""));
  byId("cell").addEventListener("input", showSimulatedTable);
  byId("run").addEventListener("click", startRun);
}

// Shows the questions of the report, which need no answer.
export function showQuestions() {
  byId("answers").replaceChildren(...unsaved.questions.map(({ key, text, most }) => {
    const id = `answer-${key}`;
    const oninput = (event) => { state.answers[key] = event.target.value; save(); };
    return element("div", { class: "field" }, element("label", { for: id, text }), element("input", { id, type: "text", maxlength: most, autocomplete: "off", value: state.answers[key] ?? "", oninput }));
  }));
}

// Shows radio buttons for the products that are results.
export function showProducts(choose) {
  const results = Object.entries(unsaved.products).filter(([, product]) => product.offered);
  byId("products").replaceChildren(...results.map(([name, product]) =>
    element("label", {}, element("input", { type: "radio", name: "product", value: name, checked: name === state.product, onchange: () => choose(name) }), element("span", { text: product.title }))));
}

// Fields whose values belong to one product, and mean nothing to others.
const isOfProduct = (field) => field.step === "out" || field.key === "delta";

// Chooses a product. Values of the former product are stored, and come back if it is chosen again.
export function chooseProduct(name) {
  const keys = new Set(allFields().filter(isOfProduct).map((field) => field.key)), productValues = {}, commonValues = {};
  for (const [key, value] of Object.entries(state.values)) (keys.has(key) ? productValues : commonValues)[key] = value;
  state.otherValues[state.product] = productValues;
  state.product = name;
  state.values = { ...unsaved.products[name].preset, ...commonValues, ...(state.otherValues[name] ?? {}) };
  byId("error").value = "";
  save();
}

