import type { Logger } from 'pino'
import type { Catalogue } from '../core/connectors/catalogue.ts'
import type { Actions } from './services/actions.ts'
import { createActivity } from './services/activity.ts'
import { createCatalogueReading } from './services/catalogue-reading.ts'
import { createChanges } from './services/changes.ts'
import { createDryRun } from './services/dry-run.ts'
import { createOverview } from './services/overview.ts'
import { createTrafficRecordReading } from './services/traffic-record.ts'
import type { Db } from './store/query.ts'
import type { Clock } from './sync/clock.ts'
import type { Hub } from './sync/hub.ts'

export type PagePartsDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly clock: Clock
  readonly hub: Pick<Hub, 'kill' | 'liveOf'>
  readonly catalogue: Catalogue
  readonly actions: Pick<Actions, 'dryRun'>
}

/** Reads that the dashboard needs beside what the specification names. */
export function createPageParts(deps: PagePartsDeps) {
  const { clock, hub } = deps
  const given = { ...deps, nowMs: clock.nowMs, kills: hub.kill.effective, liveOf: hub.liveOf }
  return {
    changes: createChanges(given),
    overview: createOverview(given),
    activity: createActivity(given),
    dryRun: createDryRun(given),
    trafficRecord: createTrafficRecordReading(given),
    catalogueReading: createCatalogueReading(deps.catalogue),
  }
}
