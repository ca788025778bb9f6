import type { AdmittedNamespaces, LabelSelector } from './namespace-fields.ts'

/** Namespace of a Gateway, and the namespaces whose objects of one kind the Gateway admits. */
export type AdmittingGateway = {
  readonly namespace: string
  readonly allowed: AdmittedNamespaces | undefined
}

export type Labels = Readonly<Record<string, string>>

/**
 * Namespace whose objects reference a Gateway. If `labels` is undefined, the labels are unknown and no selector
 * matches.
 */
export type RequestingNamespace = { readonly name: string; readonly labels: Labels | undefined }

/**
 * Reports whether objects of a namespace may reference the Gateway. Objects in the Gateway's own namespace always may.
 */
export function admits({ namespace: own, allowed }: AdmittingGateway, asking: RequestingNamespace): boolean {
  if (own === asking.name) return true
  switch (allowed?.from) {
    case undefined:
    case 'Same':
      return false
    case 'All':
      return true
    case 'Selector':
      return allowed.names.includes(asking.name) || selects(allowed.selector, asking)
  }
}

/**
 * Reports whether the selector matches the namespace: every label and every expression must match. Unlike in
 * Kubernetes, an empty selector matches nothing.
 */
export function selects(
  selector: LabelSelector | undefined,
  { name, labels: known }: RequestingNamespace,
): boolean {
  if (selector === undefined || known === undefined) return false
  // The API server sets this label on every namespace and protects its value.
  const labels = { ...known, 'kubernetes.io/metadata.name': name }
  const { matchLabels, matchExpressions } = selector
  const pairs = Object.entries(matchLabels)
  if (pairs.length + matchExpressions.length === 0) return false
  return (
    pairs.every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((expression) => holds(expression, labelOf(labels, expression.key)))
  )
}

function holds(
  { operator, values }: LabelSelector['matchExpressions'][number],
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}

/** Returns the value of a label. Only own properties count, because tenants may choose a key such as `constructor`. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}
