import type { AdmittedNamespaces, LabelSelector } from './fields.ts'

/** Where a Gateway is, and whom it admits for one kind. */
export type AdmittingGateway = {
  readonly namespace: string
  readonly allowed: AdmittedNamespaces | undefined
}

export type Labels = Readonly<Record<string, string>>

/** `labels` undefined: they are not known, and no selector selects the namespace. */
export type RequestingNamespace = { readonly name: string; readonly labels: Labels | undefined }

/** Whether objects of a namespace may name the Gateway. Its own namespace always may. */
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

/** As Kubernetes selects namespaces: every label and every expression has to match. An empty selector selects nothing. */
export function selects(
  selector: LabelSelector | undefined,
  { name, labels: known }: RequestingNamespace,
): boolean {
  if (selector === undefined || known === undefined) return false
  // The API server gives every namespace this label, and nobody can give it another value.
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

/** Keys come from tenants: `constructor` is a label like any other. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}
