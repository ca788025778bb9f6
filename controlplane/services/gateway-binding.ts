import type { DesiredProblem } from '../../core/wire/operator.ts'
import type { GatewayRow } from '../store/gateways.ts'

/** The list of `Gateway.spec.allowedNamespaces` that speaks about a kind. */
export type BoundKind = 'permissions' | 'policies' | 'connectors'

export type Asking = { readonly kind: BoundKind; readonly namespace: string }

export type Binding =
  | { readonly ok: true; readonly gateways: readonly GatewayRow[] }
  | { readonly ok: false; readonly reasons: readonly string[]; readonly problem: BindingProblem }

export type BindingProblem = Extract<DesiredProblem, 'GatewayNotFound' | 'NamespaceNotAllowed'>
type Unbound = { readonly reason: string; readonly problem: BindingProblem }

/**
 * The gateways that an object names. In its own namespace a name is enough; a Gateway of another namespace must list
 * this namespace for this kind, or any tenant could grant itself access.
 */
export function bindByName(
  rows: readonly GatewayRow[],
  asking: Asking,
  targets: ReadonlyArray<{ readonly name: string; readonly namespace?: string | undefined }>,
): Binding {
  const found = targets.map((target) => findOne(rows, asking, target))
  const unbound = found.filter((one): one is Unbound => 'reason' in one)
  const [first] = unbound
  if (first !== undefined)
    return { ok: false, reasons: unbound.map(({ reason }) => reason), problem: first.problem }
  return { ok: true, gateways: unique(found.filter((one): one is GatewayRow => !('reason' in one))) }
}

/** All gateways of the object's own namespace. */
export function bindOwnNamespace(rows: readonly GatewayRow[], { namespace }: Asking): Binding {
  const gateways = rows.filter((row) => namespaceOf(row) === namespace)
  if (gateways.length > 0) return { ok: true, gateways }
  const reason = `there is no Gateway in namespace ${namespace}; create one, or name the Gateway that this is for`
  return { ok: false, reasons: [reason], problem: 'GatewayNotFound' }
}

function findOne(
  rows: readonly GatewayRow[],
  asking: Asking,
  target: { readonly name: string; readonly namespace?: string | undefined },
): GatewayRow | Unbound {
  const namespace = target.namespace ?? asking.namespace
  const named = rows.filter((row) => shortNameOf(row) === target.name)
  const here = named.find((row) => namespaceOf(row) === namespace)
  if (here !== undefined) return allows(here, asking) ? here : notAllowed(here, asking)
  if (target.namespace !== undefined) return missing(target.name, namespace)
  const elsewhere = named.filter((row) => allows(row, asking))
  if (elsewhere.length === 1 && elsewhere[0] !== undefined) return elsewhere[0]
  if (elsewhere.length > 1) return ambiguous(target.name, elsewhere)
  return named[0] === undefined ? missing(target.name, namespace) : notAllowed(named[0], asking)
}

function allows(row: GatewayRow, { kind, namespace }: Asking): boolean {
  return namespaceOf(row) === namespace || (row.spec.allowedNamespaces?.[kind] ?? []).includes(namespace)
}

function missing(name: string, namespace: string): Unbound {
  const reason = `there is no Gateway ${name} in namespace ${namespace}; create it or correct the name`
  return { reason, problem: 'GatewayNotFound' }
}

function notAllowed(row: GatewayRow, { kind, namespace }: Asking): Unbound {
  const reason = `Gateway ${row.name} does not admit ${kind} of namespace ${namespace}; add ${namespace} to its spec.allowedNamespaces.${kind}`
  return { reason, problem: 'NamespaceNotAllowed' }
}

function ambiguous(name: string, rows: readonly GatewayRow[]): Unbound {
  const reason = `the Gateway name ${name} fits ${rows.map((row) => row.name).join(' and ')}; rename one of them`
  return { reason, problem: 'GatewayNotFound' }
}

function namespaceOf(row: GatewayRow): string {
  return row.name.slice(0, row.name.indexOf('/'))
}

function shortNameOf(row: GatewayRow): string {
  return row.name.slice(row.name.indexOf('/') + 1)
}

function unique(rows: readonly GatewayRow[]): readonly GatewayRow[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}
