/** Builders of CEL expressions. Every external value must go through `text` or `texts`. */

/** Returns a CEL string literal. */
export function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** Returns a CEL list of string literals. */
export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(', ')}]`
}

/**
 * Returns an expression for a label or annotation of the reviewed object. The value of the expression is the empty
 * string when the key is absent.
 */
export function metadataOf(
  object: 'object' | 'oldObject',
  map: 'labels' | 'annotations',
  key: string,
): string {
  return `${object}.metadata.?${map}[?${text(key)}].orValue('')`
}

/**
 * Returns an expression for a field of a container's security context, with the value `orElse` when the field is
 * absent.
 */
export function security(container: string, member: string, orElse: string): string {
  return `${container}.?securityContext.?${member}.orValue(${orElse})`
}

export type Validation = {
  readonly expression: string
  readonly message: string
  /** CEL expression of a message with the values of the request. If it fails, the API server shows `message`. */
  readonly messageExpression?: string
  readonly reason: 'Forbidden'
}
export type Variable = { readonly name: string; readonly expression: string }

/** An admission policy and its binding. */
export type Policy = {
  readonly name: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly rule: {
    readonly operations: readonly string[]
    readonly resources: readonly string[]
    /** API groups and versions. Default: the core group, `v1`. */
    readonly apiGroups?: readonly string[]
    readonly apiVersions?: readonly string[]
  }
  readonly conditions: ReadonlyArray<{ readonly name: string; readonly expression: string }>
  readonly variables?: readonly Variable[]
  readonly validations: readonly Validation[]
}

/** Creates a rule of an admission policy. `message` names the field and the change to make. */
export function demand(expression: string, message: string): Validation {
  return { expression, message, reason: 'Forbidden' }
}
