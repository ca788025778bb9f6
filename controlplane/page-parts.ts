import type { Logger } from 'pino'
import type { KnownAction } from '../core/action/spec.ts'
import type { Catalogue } from '../core/connectors/catalogue.ts'
import type { FloorRules } from '../core/crd/floors.ts'
import { LIMITS } from '../core/wire/limits.ts'
import { createRateWindow } from './http/rate-window.ts'
import type { ActionRulesSource } from './services/action-rules.ts'
import type { Actions } from './services/actions.ts'
import { createActivity } from './services/activity.ts'
import { createOwnerTokenWarnings } from './services/break-glass.ts'
import { createCatalogueReading } from './services/catalogue-reading.ts'
import { createChanges } from './services/changes.ts'
import { createDemo } from './services/demo.ts'
import { createDryRun } from './services/dry-run.ts'
import { createEffectivePermissions } from './services/effective-permissions.ts'
import { createEvidence } from './services/evidence.ts'
import type { GroupMembers } from './services/group-members.ts'
import { createOverview } from './services/overview.ts'
import { createPolicyCheck } from './services/policy-check.ts'
import { createPolicyHistory } from './services/policy-history.ts'
import { createPolicyReplay } from './services/policy-replay.ts'
import { createTrafficRecordReading } from './services/traffic-record.ts'
import type { Db } from './store/query.ts'
import type { ScopedReads } from './store/scoped-query.ts'
import type { Clock } from './sync/clock.ts'
import type { Hub } from './sync/hub.ts'

export type PagePartsDeps = {
  readonly db: Db
  readonly read: ScopedReads
  readonly orgId: string
  readonly log: Logger
  readonly clock: Clock
  readonly hub: Pick<Hub, 'kill' | 'liveOf'>
  readonly catalogue: Catalogue
  readonly actions: Pick<Actions, 'dryRun' | 'submit'>
  readonly actionRules: ActionRulesSource
  readonly knownAction: (type: string) => KnownAction | null
  readonly floorRules: FloorRules
  readonly members: GroupMembers
}

/** What the dashboard needs beside what the specification names, and the examples that it shows. */
export function createPageParts(deps: PagePartsDeps) {
  const { clock, hub } = deps
  const given = { ...deps, nowMs: clock.nowMs, kills: hub.kill.effective, liveOf: hub.liveOf }
  const catalogueReading = createCatalogueReading(deps.catalogue)
  return {
    changes: createChanges(given),
    overview: createOverview({ ...given, ownerTokenWarnings: createOwnerTokenWarnings(given) }),
    activity: createActivity(given),
    dryRun: createDryRun(given),
    trafficRecord: createTrafficRecordReading(given),
    catalogueReading,
    policyCheck: createPolicyCheck(given),
    policyReplay: createPolicyReplay(given),
    policyHistory: createPolicyHistory(given),
    effectivePermissions: createEffectivePermissions({ ...given, reading: catalogueReading }),
    evidence: createEvidence(given),
    demo: createDemo({
      ...given,
      uses: createRateWindow(LIMITS.controlPlaneRatePerMinute, clock.monotonicMs),
    }),
  }
}
