// Elements, numbers in words, and messages where the reader is looking.

export const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function button(text, properties) {
  return element("button", { type: "button", textContent: text, ...properties });
}

export function percent(share) {
  const shown = share > 0 && share < 0.005 ? "<\u00a01" : Math.round(100 * share);
  return `${shown}\u00a0%`;
}

export function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

export function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

export function bar(share) {
  const meter = element("span", { className: "bar", ariaHidden: "true" }, element("span"));
  fill(meter, share);
  return meter;
}

export function fill(meter, share) {
  meter.firstChild.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
}

export function emit(name, detail) {
  document.dispatchEvent(new CustomEvent(name, { detail }));
}

export function on(name, action) {
  document.addEventListener(name, (event) => action(event.detail));
}

export function say(message) {
  $("status").textContent = message;
}

// Run an action; if it fails, say so at the end of `where` and scroll there.
export async function attempt(where, action) {
  for (const old of where.querySelectorAll(":scope > .error")) old.remove();
  try {
    return await action();
  } catch (error) {
    const shown = element("p", { className: "error", role: "alert" }, error.message);
    where.append(shown);
    if (error.status === 401) emit("token-needed");
    else shown.scrollIntoView({ block: "nearest" });
    return null;
  }
}

export function onSubmit(id, action) {
  $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    action();
  });
}

// Words of a text with marks around those that `isMarked` chooses.
export function marked(text, isMarked) {
  return text
    .split(/([\p{L}\p{M}\p{N}_]+)/u)
    .map((part, place) => (place % 2 && isMarked(part) ? element("mark", {}, part) : part));
}

export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
