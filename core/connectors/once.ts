/** Made when it is first asked for, and then kept: whoever needs one connector does not pay for the tables of all. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null
  return () => {
    made ??= make()
    return made
  }
}
