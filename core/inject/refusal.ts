/** One contradiction between a pod's settings and governance. */
export type Refusal = {
  /** Exact path, e.g. `spec.containers[0].securityContext.privileged`. */
  readonly field: string
  /** The problem and its reason. */
  readonly problem: string
  /** The required change. */
  readonly change: string
}

export function refusal(field: string, problem: string, change: string): Refusal {
  return { field, problem, change }
}

/** Formats a refusal as one line: `FIELD: problem; change`. */
export function refusalText({ field, problem, change }: Refusal): string {
  return `${field}: ${problem}; ${change}`
}

/** Formats a path with a quoted key, e.g. `metadata.annotations[chaperone.dev/gateway]`. */
export function annotationField(name: string): string {
  return `metadata.annotations[${name}]`
}
