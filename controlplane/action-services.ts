import type { Logger } from 'pino'
import type { KnownAction } from '../core/action/spec.ts'
import type { Clock } from '../core/state/clock.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { Db } from './db/query.ts'
import { createActionEnding } from './features/actions/cancellation/approval-ended.ts'
import { createActionKillChecks } from './features/actions/cancellation/kill-checks.ts'
import { actionCancellation, createCancelApprovedAction } from './features/actions/cancellation/service.ts'
import { ActionUpkeep } from './features/actions/cleanup.ts'
import { createExecute } from './features/actions/executions/service.ts'
import { createFindUrlGateway } from './features/actions/executions/url-gateway.ts'
import { createActionRules } from './features/actions/rules.ts'
import { createActions } from './features/actions/service.ts'
import type { Notify } from './features/actions/submission/service.ts'
import { createTokenKeys } from './features/actions/tokens/keys.ts'
import { createTokens } from './features/actions/tokens/service.ts'
import type { SigningKeys } from './features/actions/tokens/signing-keys.ts'
import { createVerification } from './features/actions/tokens/verification.ts'
import { openWebhook } from './features/actions/webhook-address.ts'
import { createCancelKilled } from './features/approvals/cancellation/service.ts'
import { createAuditReading } from './features/audit/reading.ts'
import type { Notifications } from './features/notifications/service.ts'
import type { Settings } from './features/settings/service.ts'
import { createRateWindow } from './http/rate-window.ts'
import type { Hub } from './sync/hub.ts'
import { OrderRelay } from './sync/orders/relay.ts'
import type { SectionLibrary } from './sync/sections/library.ts'

export type ActionServicesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly keys: SigningKeys
  readonly library: SectionLibrary
  readonly hub: Hub
  readonly knownAction: (type: string) => KnownAction | null
  readonly settings: Pick<Settings, 'read'>
  readonly enqueue: Notifications['enqueue']
  /** Called after the commit of a transaction that opened an approval. */
  readonly onOpened: () => void
}

/**
 * Maximum number of failed token verifications per client address and minute. Successful verifications do not count.
 */
const FAILURES_PER_MINUTE = 12_000

/** Creates the services behind API v1. */
export async function createActionServices(deps: ActionServicesDeps) {
  const { log, hub } = deps
  const notify: Notify = async (q, { orgId, id, status, decision, spec, webhook }, event) => {
    if (webhook === null) return
    const url = openWebhook(deps.keyring, id, webhook)
    await deps.enqueue(q, { orgId, url, event, actionRequestId: id, status, decision, actionSpec: spec })
  }
  const tokenKeys = createTokenKeys(deps)
  const base = {
    ...deps,
    kills: hub.kill.effective,
    tokens: createTokens({ ...deps, keys: tokenKeys }),
    notify,
  }
  const rules = createActionRules(base)
  const killChecks = createActionKillChecks({ ...base, rules })
  const failures = createRateWindow(FAILURES_PER_MINUTE, deps.clock.monotonicMs)
  const onFailed = (error: unknown, agent: string) =>
    log.error({ err: error, agent }, 'the action of an agent could not be evaluated, so it is denied')
  const relay = await OrderRelay.start(deps)
  const upkeep = new ActionUpkeep(deps)
  return {
    orgId: deps.orgId,
    relay,
    upkeep,
    tokenKeys,
    actionRules: rules,
    actions: createActions({ ...base, rules, onFailed }),
    /** Cancels the approvals and actions that a kill switch covers. */
    cancelKilled: createCancelKilled({ ...base, killChecks, actions: actionCancellation }),
    /** Cancels the action of a withdrawn approval. */
    cancelAction: createCancelApprovedAction(notify),
    /** Moves the action of an approved, denied or expired approval to its next state. */
    onApprovalEnded: createActionEnding(base),
    execute: createExecute({
      ...base,
      rules,
      killChecks,
      relay,
      gatewayUrl: () => deps.settings.read('gateway_url'),
      findUrlGateway: createFindUrlGateway(),
    }),
    verification: createVerification({ ...base, killChecks, failures }),
    auditReading: createAuditReading(base),
  }
}
