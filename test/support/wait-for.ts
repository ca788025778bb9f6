import { vi } from 'vitest'

/** Calls `vi.waitFor` with the timeout of `eventually`, because the default of one second is too short on a busy machine. */
export function waitFor<T>(
  check: () => T | Promise<T>,
  options: { readonly interval?: number; readonly timeout?: number } = {},
): Promise<T> {
  return vi.waitFor(check, { timeout: 60_000, ...options })
}
