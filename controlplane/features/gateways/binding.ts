import { admits, type Labels, selects } from '../../../core/crd/allowed-namespaces.ts'
import type { GatewayRef, LabelSelector } from '../../../core/crd/fields.ts'
import type { PushProblem } from '../../../core/wire/operator/operator.ts'
import type { BindableGateway } from './rows.ts'

/** Member of `Gateway.spec.allowedNamespaces` for a kind. */
export type BoundKind = 'permissions' | 'policies' | 'connectors'

export type Asking = {
  readonly kind: BoundKind
  readonly namespace: string
  /** Labels of the namespace; undefined when unknown. */
  readonly labels: Labels | undefined
  /** Gateways that this object was bound to since its last change, as `namespace/name`. */
  readonly boundBefore: readonly string[]
  /** True for an object of the platform team, which no Gateway has to admit. */
  readonly isPlatform?: boolean
}

export type BindingProblem = Extract<PushProblem, 'GatewayNotFound' | 'NamespaceNotAllowed'>

/** The Gateways that an object is in force at. */
export type Binding = {
  readonly gateways: readonly BindableGateway[]
  /** Gateways that the object was bound to and that no longer admit it. */
  readonly lost: readonly BindableGateway[]
  /**
   * All Gateways of other namespaces that the object is or was bound to, whether they exist or not, as
   * `namespace/name`.
   */
  readonly bound: readonly string[]
  /** Reasons for the unresolved references; `problem` is that of the first. */
  readonly reasons: readonly string[]
  readonly problem: BindingProblem | null
}

/** Returns the part before the slash of `namespace/name`. */
export function namespaceOf({ name }: Pick<BindableGateway, 'name'>): string {
  return name.slice(0, name.indexOf('/'))
}

/**
 * Binds an object to the Gateways that it references, else to all of its own namespace. A reference without a
 * namespace means the object's own, so that no object of another tenant can change its meaning. A Gateway of another
 * namespace must admit the object's namespace for this kind; otherwise any tenant could grant itself access.
 */
export function bindGateways(
  rows: readonly BindableGateway[],
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
 * Binds an object to the Gateways of the namespaces that the selector selects. A namespace with unknown labels counts
 * as selected: policies of the platform team can only tighten.
 */
export function bindSelected(
  rows: readonly BindableGateway[],
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

/**
 * Splits the Gateways of the last accepted version of an object into those that still admit the object and those that
 * do not.
 */
export function standing(rows: readonly BindableGateway[], asking: Omit<Asking, 'boundBefore'>) {
  const [gateways, lost] = partition(rows, (row) => isBound(row, asking))
  return { gateways, lost }
}

function bindOwnNamespace(rows: readonly BindableGateway[], { namespace }: Asking): Binding {
  const gateways = rows.filter((row) => namespaceOf(row) === namespace)
  const none = { lost: [], bound: [] }
  if (gateways.length > 0) return { gateways, ...none, reasons: [], problem: null }
  const reason = `there is no Gateway in namespace ${namespace}; create one, or name a Gateway in spec.gatewayRefs`
  return { gateways, ...none, reasons: [reason], problem: 'GatewayNotFound' }
}

function isBound(
  row: BindableGateway | undefined,
  { kind, namespace: name, labels, isPlatform }: Omit<Asking, 'boundBefore'>,
): boolean {
  if (row === undefined || isPlatform === true) return row !== undefined
  const allowed = row.spec.allowedNamespaces?.[kind]
  return admits({ namespace: namespaceOf(row), allowed }, { name, labels })
}

type Unresolved = { readonly reason: string; readonly problem: BindingProblem }

/**
 * Returns the reason for an unresolved reference. It is the same for a missing Gateway and for one that does not admit
 * the namespace, so that it does not disclose the Gateways of other namespaces.
 */
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

function keeps(lost: readonly BindableGateway[], { kind, namespace }: Asking): string {
  const names = lost.map(({ name }) => name).join(', ')
  return kind === 'connectors'
    ? `nothing of it is in force at ${names}`
    : `until it is changed, deleted or admitted again its denies and holds stay in force at ${names} for agents of namespace ${namespace}`
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}
