import { admits, type Labels, selects } from '../../../core/crd/allowed-namespaces.ts'
import type { GatewayRef, LabelSelector } from '../../../core/crd/fields.ts'
import type { PushProblem } from '../../../core/wire/operator/operator.ts'
import type { GatewayRow } from './store.ts'

/** The member of `Gateway.spec.allowedNamespaces` for a kind. */
export type BoundKind = 'permissions' | 'policies' | 'connectors'

export type Asking = {
  readonly kind: BoundKind
  readonly namespace: string
  /** Of the namespace; undefined: not known. */
  readonly labels: Labels | undefined
  /** `namespace/name` of the Gateways that this object was bound to since it was last changed. */
  readonly boundBefore: readonly string[]
  /** No Gateway has to admit it. */
  readonly isPlatform?: boolean
}

export type BindingProblem = Extract<PushProblem, 'GatewayNotFound' | 'NamespaceNotAllowed'>

/** The Gateways that an object is for. */
export type Binding = {
  readonly gateways: readonly GatewayRow[]
  /** Those that it was bound to and that do not admit it any more. */
  readonly lost: readonly GatewayRow[]
  /** `namespace/name` of all Gateways of other namespaces that it is or was bound to, whether they exist or not. */
  readonly bound: readonly string[]
  /** About the references that are not resolved; the first one's problem. */
  readonly reasons: readonly string[]
  readonly problem: BindingProblem | null
}

/** The namespace before the slash of `namespace/name`. */
export function namespaceOf({ name }: Pick<GatewayRow, 'name'>): string {
  return name.slice(0, name.indexOf('/'))
}

/**
 * The Gateways that an object references, else all of its own namespace. A reference without a namespace means the
 * object's own, whatever exists elsewhere: no object of another tenant changes what it means. A Gateway of another
 * namespace must admit this one for this kind, or any tenant could grant itself access.
 */
export function bindGateways(
  rows: readonly GatewayRow[],
  asking: Asking,
  refs: readonly GatewayRef[] | undefined,
): Binding {
  if (refs === undefined) return bindOwnNamespace(rows, asking)
  const targets = new Map(refs.map((ref) => [`${ref.namespace ?? asking.namespace}/${ref.name}`, ref]))
  const byName = new Map(rows.map((row) => [row.name, row]))
  const rowOf = (target: string) => byName.get(target) ?? []
  const [resolved, unresolved] = partition([...targets.keys()], (target) =>
    isBound(byName.get(target), asking),
  )
  const kept = unresolved.filter((target) => asking.boundBefore.includes(target))
  const problems = unresolved.map((target) => unresolvedRef(target, targets.get(target)?.namespace, asking))
  const reasons = problems.map(({ reason }) => reason)
  const lost = kept.flatMap(rowOf)
  return {
    gateways: resolved.flatMap(rowOf),
    lost,
    bound: [...resolved, ...kept].filter((target) => namespaceOf({ name: target }) !== asking.namespace),
    reasons: lost.length === 0 ? reasons : [...reasons, keeps(lost, asking)],
    problem: problems[0]?.problem ?? null,
  }
}

/**
 * The Gateways of the namespaces that a selector selects. One whose labels are not known counts as selected: what the
 * platform team says can only tighten.
 */
export function bindSelected(
  rows: readonly GatewayRow[],
  selector: LabelSelector,
  labels: ReadonlyMap<string, Labels>,
): Binding {
  const gateways = rows.filter((row) => {
    const name = namespaceOf(row)
    const known = labels.get(name)
    return known === undefined || selects(selector, { name, labels: known })
  })
  const none = { gateways, lost: [], bound: [] }
  if (gateways.length > 0) return { ...none, reasons: [], problem: null }
  const reason =
    'there is no Gateway in a namespace that spec.namespaceSelector selects; correct the selector, or label namespaces'
  return { ...none, reasons: [reason], problem: 'GatewayNotFound' }
}

/** What of Gateways that a last good version is bound to still admits it, and what does not. */
export function standing(rows: readonly GatewayRow[], asking: Omit<Asking, 'boundBefore'>) {
  const [gateways, lost] = partition(rows, (row) => isBound(row, asking))
  return { gateways, lost }
}

function bindOwnNamespace(rows: readonly GatewayRow[], { namespace }: Asking): Binding {
  const gateways = rows.filter((row) => namespaceOf(row) === namespace)
  const none = { lost: [], bound: [] }
  if (gateways.length > 0) return { gateways, ...none, reasons: [], problem: null }
  const reason = `there is no Gateway in namespace ${namespace}; create one, or name a Gateway in spec.gatewayRefs`
  return { gateways, ...none, reasons: [reason], problem: 'GatewayNotFound' }
}

function isBound(
  row: GatewayRow | undefined,
  { kind, namespace: name, labels, isPlatform }: Omit<Asking, 'boundBefore'>,
): boolean {
  if (row === undefined || isPlatform === true) return row !== undefined
  const allowed = row.spec.allowedNamespaces?.[kind]
  return admits({ namespace: namespaceOf(row), allowed }, { name, labels })
}

type Unresolved = { readonly reason: string; readonly problem: BindingProblem }

/** One answer for a missing Gateway and one that does not admit: nobody learns which Gateways other namespaces have. */
function unresolvedRef(target: string, named: string | undefined, { kind, namespace }: Asking): Unresolved {
  if (namespaceOf({ name: target }) !== namespace) {
    const reason = `there is no Gateway ${target} that admits ${kind} of namespace ${namespace}; its owner admits them in spec.allowedNamespaces.${kind}`
    return { reason, problem: 'NamespaceNotAllowed' }
  }
  const name = target.slice(namespace.length + 1)
  const remedy = named === undefined ? ', or add the namespace of the Gateway to the reference' : ''
  const reason = `there is no Gateway ${name} in namespace ${namespace}; create it or correct the name${remedy}`
  return { reason, problem: 'GatewayNotFound' }
}

function keeps(lost: readonly GatewayRow[], { kind, namespace }: Asking): string {
  const names = lost.map(({ name }) => name).join(', ')
  return kind === 'connectors'
    ? `nothing of it is in force at ${names} any more`
    : `until it is changed, deleted or admitted again its denies and holds stay in force at ${names} for agents of namespace ${namespace}`
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}
