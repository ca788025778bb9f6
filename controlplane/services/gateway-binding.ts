import { admits } from '../../core/crd/allowed-namespaces.ts'
import type { GatewayRef } from '../../core/crd/fields.ts'
import type { DesiredProblem } from '../../core/wire/operator.ts'
import type { GatewayRow } from '../store/gateways.ts'

/** The member of `Gateway.spec.allowedNamespaces` for a kind. */
export type BoundKind = 'permissions' | 'policies' | 'connectors'

export type Asking = { readonly kind: BoundKind; readonly namespace: string }

export type Binding =
  | { readonly ok: true; readonly gateways: readonly GatewayRow[] }
  | { readonly ok: false; readonly reasons: readonly string[]; readonly problem: BindingProblem }

export type BindingProblem = Extract<DesiredProblem, 'GatewayNotFound' | 'NamespaceNotAllowed'>
type Unbound = { readonly reason: string; readonly problem: BindingProblem }

/**
 * The Gateways that an object is for: those that it references, else all of its own namespace. A reference without a
 * namespace means the object's own, whatever exists elsewhere: no object of another tenant changes what it means. A
 * Gateway of another namespace must admit this one for this kind, or any tenant could grant itself access.
 */
export function bindGateways(
  rows: readonly GatewayRow[],
  asking: Asking,
  refs: readonly GatewayRef[] | undefined,
): Binding {
  if (refs === undefined) return bindOwnNamespace(rows, asking)
  const found = refs.map((ref) => resolve(rows, asking, ref))
  const unbound = found.filter((one): one is Unbound => 'reason' in one)
  const [first] = unbound
  if (first !== undefined)
    return { ok: false, reasons: unbound.map(({ reason }) => reason), problem: first.problem }
  return { ok: true, gateways: unique(found.filter((one): one is GatewayRow => !('reason' in one))) }
}

function bindOwnNamespace(rows: readonly GatewayRow[], { namespace }: Asking): Binding {
  const gateways = rows.filter((row) => namespaceOf(row) === namespace)
  if (gateways.length > 0) return { ok: true, gateways }
  const reason = `there is no Gateway in namespace ${namespace}; create one, or name a Gateway in spec.gatewayRefs`
  return { ok: false, reasons: [reason], problem: 'GatewayNotFound' }
}

function resolve(rows: readonly GatewayRow[], asking: Asking, ref: GatewayRef): GatewayRow | Unbound {
  const namespace = ref.namespace ?? asking.namespace
  const row = rows.find(({ name }) => name === `${namespace}/${ref.name}`)
  if (namespace === asking.namespace) return row ?? missing(ref, namespace)
  const allowed = row?.spec.allowedNamespaces?.[asking.kind]
  return row !== undefined && admits({ namespace, allowed }, asking.namespace)
    ? row
    : notAdmitted(ref, asking)
}

function missing({ name, namespace: named }: GatewayRef, namespace: string): Unbound {
  const remedy = named === undefined ? ', or add the namespace of the Gateway to the reference' : ''
  const reason = `there is no Gateway ${name} in namespace ${namespace}; create it or correct the name${remedy}`
  return { reason, problem: 'GatewayNotFound' }
}

/** One answer for a missing Gateway and one that does not admit: nobody learns which Gateways other namespaces have. */
function notAdmitted({ name, namespace }: GatewayRef, asking: Asking): Unbound {
  const reason = `there is no Gateway ${namespace}/${name} that admits ${asking.kind} of namespace ${asking.namespace}; its owner admits them in spec.allowedNamespaces.${asking.kind}`
  return { reason, problem: 'NamespaceNotAllowed' }
}

function namespaceOf(row: GatewayRow): string {
  return row.name.slice(0, row.name.indexOf('/'))
}

function unique(rows: readonly GatewayRow[]): readonly GatewayRow[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}
