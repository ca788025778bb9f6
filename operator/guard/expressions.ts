/** Builders of CEL expressions. Every external value must go through `text` or `texts`. */

/** A CEL string literal. */
export function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** A CEL list of string literals. */
export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(', ')}]`
}

/** A label or annotation of an object of the request; the empty string without one. */
export function metadataOf(
  object: 'object' | 'oldObject',
  map: 'labels' | 'annotations',
  key: string,
): string {
  return `${object}.metadata.?${map}[?${text(key)}].orValue('')`
}

/** A field of a container's security context. */
export function security(container: string, member: string, orElse: string): string {
  return `${container}.?securityContext.?${member}.orValue(${orElse})`
}

export type Validation = {
  readonly expression: string
  readonly message: string
  readonly reason: 'Forbidden'
}
export type Variable = { readonly name: string; readonly expression: string }

/** `message` names the field and the change to make. */
export function demand(expression: string, message: string): Validation {
  return { expression, message, reason: 'Forbidden' }
}
