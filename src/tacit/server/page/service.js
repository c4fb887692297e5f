// Requests to the service; errors carry the detail of the problem document.

const TOKEN = "tacit-token";

export class ProblemError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function useToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

async function answer(path, options = {}) {
  const headers = { ...options.headers };
  if (hasToken()) headers.Authorization = `Bearer ${sessionStorage.getItem(TOKEN)}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    throw new ProblemError(0, "The service cannot be reached.");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new ProblemError(response.status, problem.detail || `The service answered ${response.status}.`);
}

export async function ask(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null);
  const response = await answer(given.length ? `${path}?${new URLSearchParams(given)}` : path);
  return response.json();
}

export async function tell(path, content) {
  const response = await answer(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
  return response.json();
}

export async function download(path) {
  return (await answer(path)).blob();
}
