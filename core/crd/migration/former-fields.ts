import type { ResourceKind } from '../schemas.ts'

/** Kind of rewrite that `chaperone migrate` applies to a former field. */
export type Rewriting = 'renamed' | 'removed' | 'references' | 'enabled' | 'scopes' | 'admitted'

/**
 * Field of a custom resource that has been renamed, removed or given another form. `*` in `path` stands for every item
 * of a list.
 */
export type FormerField = {
  readonly kind: ResourceKind
  readonly path: readonly string[]
  readonly rewriting: Rewriting
  /** Name of the replacing field in the same mapping; null for a field without a replacement. */
  readonly to: string | null
}

const ADMITTED_KINDS = ['permissions', 'policies', 'connectors', 'agents']

/** All former fields. If only the form of the value has changed, the field is still valid, and `to` is its own name. */
export const FORMER_FIELDS: readonly FormerField[] = [
  { kind: 'Gateway', path: ['spec', 'topology'], rewriting: 'removed', to: null },
  { kind: 'Gateway', path: ['spec', 'killSwitch', 'scopes'], rewriting: 'scopes', to: 'scopes' },
  ...ADMITTED_KINDS.map(
    (name): FormerField => ({
      kind: 'Gateway',
      path: ['spec', 'allowedNamespaces', name],
      rewriting: 'admitted',
      to: name,
    }),
  ),
  { kind: 'Connector', path: ['spec', 'gateways'], rewriting: 'references', to: 'gatewayRefs' },
  { kind: 'Permission', path: ['spec', 'gateway'], rewriting: 'references', to: 'gatewayRefs' },
  { kind: 'Policy', path: ['spec', 'targetRefs'], rewriting: 'references', to: 'gatewayRefs' },
  { kind: 'Policy', path: ['spec', 'enabled'], rewriting: 'enabled', to: 'mode' },
  {
    kind: 'Policy',
    path: ['spec', 'rules', '*', 'approver_groups'],
    rewriting: 'renamed',
    to: 'approverGroups',
  },
  {
    kind: 'Policy',
    path: ['spec', 'tests', '*', 'action', 'risk_hints'],
    rewriting: 'renamed',
    to: 'riskHints',
  },
]

/** Returns the advice for a former field; undefined for any other field. */
export function formerFieldAdvice(kind: unknown, path: ReadonlyArray<string | number>): string | undefined {
  const former = FORMER_FIELDS.find((each) => each.kind === kind && isAt(each.path, path))
  if (former === undefined) return undefined
  if (former.to === null) return 'remove the field, or run chaperone migrate'
  const use = former.rewriting === 'enabled' ? 'mode: disabled instead of enabled: false' : former.to
  return `use ${use}, or run chaperone migrate`
}

function isAt(pattern: readonly string[], path: ReadonlyArray<string | number>): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((step, index) => (step === '*' ? typeof path[index] === 'number' : step === path[index]))
  )
}
