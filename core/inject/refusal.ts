/** One contradiction between what a pod asks for and being governed. */
export type Refusal = {
  /** Exact path, e.g. `spec.containers[0].securityContext.privileged`. */
  readonly field: string
  /** What is wrong with it, and why. */
  readonly problem: string
  /** What to change. */
  readonly change: string
}

export function refusal(field: string, problem: string, change: string): Refusal {
  return { field, problem, change }
}

/** One line for people: `FIELD: what is wrong; what to change`. */
export function refusalText({ field, problem, change }: Refusal): string {
  return `${field}: ${problem}; ${change}`
}

/** Keys that need quoting in a path, e.g. `metadata.annotations[chaperone.dev/gateway]`. */
export function annotationField(name: string): string {
  return `metadata.annotations[${name}]`
}
