import type { GatewayRef } from '../../../core/crd/fields.ts'
import { admits, type Labels, selects } from '../../../core/crd/gateway/allowed-namespaces.ts'
import type { LabelSelector } from '../../../core/crd/gateway/namespace-fields.ts'
import type { PushProblem } from '../../../core/wire/operator/operator.ts'
import type { BindableGateway } from './rows.ts'

/** Field of `Gateway.spec.allowedNamespaces` that admits objects of a kind. */
export type BoundKind = 'permissions' | 'policies' | 'connectors'

export type Asking = {
  readonly kind: BoundKind
  readonly namespace: string
  /** Labels of the object's namespace; undefined when they are unknown. */
  readonly labels: Labels | undefined
  /** Gateways to which this object was bound since its last change, as `namespace/name`. */
  readonly boundBefore: readonly string[]
  /** True for an object of the platform team. Such an object needs no admission by a Gateway. */
  readonly isPlatform?: boolean
}

export type BindingProblem = Extract<PushProblem, 'GatewayNotFound' | 'NamespaceNotAllowed'>

/** The Gateways at which an object is in force. */
export type Binding = {
  readonly gateways: readonly BindableGateway[]
  /** Gateways to which the object was bound and that have ceased to admit the object. */
  readonly lost: readonly BindableGateway[]
  /**
   * All Gateways of other namespaces that the object references or to which it was bound, as
   * `namespace/name`. The list may contain Gateways that do not exist.
   */
  readonly bound: readonly string[]
  /** Reasons for the unresolved Gateway references. `problem` belongs to the first of these references. */
  readonly reasons: readonly string[]
  readonly problem: BindingProblem | null
}

/** Returns the part before the slash of `namespace/name`. */
export function namespaceOf({ name }: Pick<BindableGateway, 'name'>): string {
  return name.slice(0, name.indexOf('/'))
}

/**
 * Binds an object to the Gateways that it references. An object without references is bound to all Gateways of its
 * namespace. A reference without a namespace means the namespace of the object, so that an object of another tenant
 * cannot change the meaning of the reference. A Gateway of another namespace must admit this kind of object from the
 * object's namespace; otherwise any tenant could grant itself access.
 */
export function bindGateways(
  rows: readonly BindableGateway[],
  asking: Asking,
  refs: readonly GatewayRef[] | undefined,
): Binding {
  if (refs === undefined) return bindOwnNamespace(rows, asking)
  const targetOf = (ref: GatewayRef) => `${ref.namespace ?? asking.namespace}/${ref.name}`
  const targets = new Map(refs.map((ref) => [targetOf(ref), ref]))
  const byName = new Map(rows.map((row) => [row.name, row]))
  const rowOf = (target: string) => byName.get(target) ?? []
  const [resolved, unresolved] = partition([...targets.keys()], (target) =>
    isBound(byName.get(target), asking),
  )
  const kept = unresolved.filter((target) => asking.boundBefore.includes(target))
  const fieldOf = (target: string | undefined) =>
    `spec.gatewayRefs[${refs.findIndex((ref) => targetOf(ref) === target)}]`
  const problems = unresolved.map((target) => unresolvedRef(target, targets.get(target)?.namespace, asking))
  const reasons = problems.map(({ reason }, index) => `${fieldOf(unresolved[index])}: ${reason}`)
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
 * Binds an object to the Gateways in the namespaces that the label selector selects. A namespace with unknown labels
 * counts as selected, because policies of the platform team can only make decisions stricter.
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
    'spec.namespaceSelector: selects no namespace with a Gateway; correct the selector, or label namespaces'
  return { ...none, reasons: [reason], problem: 'GatewayNotFound' }
}

/**
 * Divides the Gateways to which the last accepted version of an object was bound: Gateways that still admit the object,
 * and Gateways that do not.
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
 * Returns the reason for an unresolved Gateway reference. A missing Gateway and a Gateway that does not admit the
 * namespace give the same reason, so that the reason does not disclose which Gateways other namespaces have.
 */
function unresolvedRef(target: string, named: string | undefined, { kind, namespace }: Asking): Unresolved {
  if (namespaceOf({ name: target }) !== namespace) {
    const reason = `there is no Gateway ${target} that admits ${kind} of namespace ${namespace}; ask the owner of the Gateway to admit the namespace in spec.allowedNamespaces.${kind}`
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
    ? `it has no effect at ${names}`
    : `until it is changed, deleted or admitted again, its rules that deny or hold stay in force at ${names} for agents of namespace ${namespace}`
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}
