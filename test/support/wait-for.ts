import { vi } from 'vitest'

/** `vi.waitFor` with the deadline of `eventually`: the second that it waits by default is over on a busy machine. */
export function waitFor<T>(
  check: () => T | Promise<T>,
  options: { readonly interval?: number; readonly timeout?: number } = {},
): Promise<T> {
  return vi.waitFor(check, { timeout: 25_000, ...options })
}
