import { type Handle, MAX_UPLOADED_HANDLES } from '../../../core/connectors/handles/handle.ts'
import { handleRule } from '../../../core/connectors/handles/handle-scope.ts'
import { distinctHandles } from '../../../core/connectors/handles/table-handles.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import { decideHandle, type HandleOwner } from '../../../core/decision/handle-owner.ts'
import { isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import { type Decided, setDecision } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { deny } from '../refusal/deny.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Eventual, Stage, StageResult } from '../stage.ts'

/**
 * Creates the stage that determines the owners of the provider handles that the request names. The stage may deny the
 * request because of an owner. Requests that were already denied do not reach the stage.
 */
export function createHandles({ handles }: Pick<PipelinePorts, 'handles'>): Stage<Decided, Decided> {
  return {
    name: 'handles',
    isQuick: true,
    run(exchange): Eventual<Decided> {
      const { connector: bound, agent } = exchange
      const named = namedHandles(exchange)
      if (isRefusal(named)) return refuseReading(exchange, named)
      const unread = unreadHandles(exchange)
      if (named.length + unread.length === 0) return exchange
      const keys = named.map((handle) => handles.keyOf(bound, handle))
      exchange.evaluation.namedHandles = keys
      const owners = handles.ownersOf(keys, agent)
      const all = { bound, named: [...named, ...unread] }
      return owners instanceof Promise
        ? owners.then((known) => judge(exchange, all, known))
        : judge(exchange, all, owners)
    },
  }
}

const NONE: readonly Handle[] = []

function namedHandles({
  connector: bound,
  request,
  scan,
  evaluation: { uploadedHandles },
}: Decided): readonly Handle[] | Refusal {
  if (bound.connector.handles === undefined) return NONE
  if (handleRule(bound) === 'shared') return NONE
  const named = bound.connector.handles.named(request, scan?.result.found ?? [])
  if (isRefusal(named) || uploadedHandles === undefined || uploadedHandles === 'unread') return named
  return uploadedHandles.length === 0
    ? named
    : distinctHandles([...named, ...uploadedHandles], MAX_UPLOADED_HANDLES)
}

/**
 * Handle of a request that may name any handle, because the gateway does not read its body. The owner of this handle
 * counts as unknown.
 */
const ANY: readonly Handle[] = [{ kind: 'resource', id: '' }]

function unreadHandles({ connector: bound, request, evaluation }: Decided): readonly Handle[] {
  if (bound.connector.handles === undefined) return NONE
  if (handleRule(bound) === 'shared') return NONE
  return evaluation.uploadedHandles === 'unread' || bound.connector.handles.isUnread(request) ? ANY : NONE
}

type Named = { readonly bound: BoundConnector; readonly named: readonly Handle[] }

function judge(
  exchange: Decided,
  { bound, named }: Named,
  owners: readonly HandleOwner[],
): StageResult<Decided> {
  const { snapshot, decision } = exchange
  const judged = named.map(({ kind }, at) => ({ kind, owner: owners[at] ?? 'unknown' }))
  exchange.evaluation.handle = strictestOf(judged.map(({ owner }) => owner))
  const against = decideHandle(snapshot, bound, judged)
  if (against === undefined) return exchange
  const { verdict, would, reason, source } = against
  const judgedAgain: Decision = {
    ...decision,
    verdict: verdict === 'deny' ? 'deny' : decision.verdict,
    would,
    reason,
    source,
  }
  setDecision(exchange, judgedAgain)
  return verdict === 'deny' ? deny(exchange, judgedAgain) : exchange
}

function strictestOf(owners: readonly HandleOwner[]): HandleOwner {
  if (owners.includes('foreign')) return 'foreign'
  return owners.includes('unknown') ? 'unknown' : 'own'
}
