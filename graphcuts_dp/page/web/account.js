// The account of the data: which one is charged, whether others are about the same people, its budget.
import { element, show, small } from "/page/shared.js";
import { one } from "/web/fields.js";
import { ask, by, keep, live, put, role, state } from "/web/state.js";

let changed = () => {}, newest = 0;
export const onChange = (work) => { changed = work; };

const usedText = ({ used, total }) => (total === null ? `${small(used)} used up, no budget` : `${small(used)} of ${small(total)} used up`);

// What is used up of an account already, as a sentence.
function stateText({ name, is_new, results, used, total, left }) {
  if (is_new) return `${name} is a new account: nothing is used up yet.`;
  const some = `${results === 1 ? "1 result has" : `${results} results have`} used up ${small(used)}`;
  return `Account ${name}: ${some}${total === null ? ", and there is no budget" : ` of ${small(total)}, so ${small(left)} is left`}.`;
}

// Ask which account would be charged; only the newest question counts.
export async function refresh() {
  if (!state.source) { live.account = null; return; }
  const turn = ++newest;
  const account = await ask("account", { values: state.values, source: state.source });
  if (turn === newest) live.account = account;
}

// Whether it is still to be said if the other accounts of the folder are about the same people.
export const unanswered = () => Boolean(live.account?.charged.is_new && live.account.others.length && !isSeparate());
export const isSeparate = () => Boolean(live.account) && state.separate === live.account.of_file.name;

// Ask for the answer that is missing; returns whether one is.
export function asks(target) {
  if (!unanswered()) return false;
  show(target, "Say first whether the people of this file are also in another account.");
  by("account-people").querySelector("input")?.focus();
  return true;
}

// Show the account in a step, with the field of its budget.
export async function draw(step) {
  by(`${step}-account`).append(by("account"));
  const budget = role("budget");
  by("account-budget").replaceChildren(...(budget ? [one(budget, false)] : []));
  await refresh();
  tell();
}

export function tell() {
  const account = live.account;
  if (!account) return;
  const { of_file: own, charged, others } = account;
  fixBudget(charged);
  by("account-name").textContent = `${charged.name === own.name ? "" : "Shared with other data about the same people. "}${stateText(charged)}`;
  by("account-own").classList.toggle("hidden", own.is_new);
  by("account-own").querySelector("p").textContent = `If this file is about other people than those of ${own.name}, it needs an account of its own.`;
  by("account-people").classList.toggle("hidden", !own.is_new || !others.length);
  const chosen = charged.name === own.name ? (isSeparate() ? "" : null) : charged.name;
  const focused = document.activeElement?.name === "account-people";
  const answer = (name, text) => element("label", {}, element("input", { type: "radio", name: "account-people", value: name, checked: name === chosen, onchange: () => say(name) }), element("span", { text }));
  by("account-answers").replaceChildren(...others.map((other) => answer(other.name, `Yes, use ${other.name} (${usedText(other)})`)), answer("", "No, these are other people"));
  if (focused) by("account-answers").querySelector("input:checked")?.focus();
}

// The budget of an account that exists is fixed: its field says so, and takes nothing.
function fixBudget({ is_new, total }) {
  const key = role("budget")?.key, field = by(`f-${key}`);
  if (!field) return;
  field.disabled = !is_new;
  if (document.activeElement !== field) field.value = is_new ? state.values[key] ?? "" : total ?? "";
  const fixed = total === null ? "The first result of these data was made without a budget, so that none can be set any more." : `It was set to ${small(total)} with the first result of these data, and cannot be changed.`;
  show(by(`f-${key}-note`), is_new ? "" : fixed, "");
}

// An answer: the name of the account of the same people, or "" for none.
async function say(name) {
  put(role("same_people").key, name);
  state.separate = name ? "" : live.account.of_file.name;
  keep();
  await update();
}

async function update() {
  await refresh();
  tell();
  changed();
}

// The file is about other people than an account of the same name.
export async function separate() {
  put(role("store").key, live.account.unused);
  state.separate = live.account.unused;
  keep();
  await update();
  by("account-name").focus();
}

// Below the columns of a file: what its account has used up already, if there is one.
export async function known() {
  await refresh();
  const own = live.account?.of_file;
  show(by("known"), own && !own.is_new ? stateText(own) : "", own?.left === 0 ? "bad" : "");
}

export function listen() {
  by("account-separate").addEventListener("click", separate);
}
