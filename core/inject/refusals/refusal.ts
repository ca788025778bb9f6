/** Setting of a pod that contradicts governance. */
export type Refusal = {
  /** Exact path of the setting, such as `spec.containers[0].securityContext.privileged`. */
  readonly field: string
  /** Statement of the problem and its reason. */
  readonly problem: string
  /** Change of the pod that resolves the problem. */
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
