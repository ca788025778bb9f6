import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { ActivityReply } from '../../../core/wire/overview.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { busiestAgents, countByTime, topDenials } from './activity-store.ts'

/** Length of the period in seconds. The period ends at `to`; default: now. */
export type ActivityQuestion = { readonly seconds: number; readonly to?: string | undefined }
export type Activity = (namespaces: Namespaces, question: ActivityQuestion) => Promise<ActivityReply>

const TOP = 10
/** Maximum number of different denials that are shown per agent. */
const KINDS = 4
/** Maximum number of buckets per period, which keeps charts readable on small screens. */
const BUCKETS = 60
/** Possible lengths of a bucket in seconds. Sums of buckets of a minute or longer are read from roll-ups. */
const STEPS_S = [10, 60, 300, 900, 1_800, 3_600, 7_200, 21_600, 86_400]

/** Returns numbers of requests and decisions over time, from the traffic log. */
export function createActivity(deps: {
  readonly read: ScopedReads
  readonly orgId: string
  readonly nowMs: () => number
}): Activity {
  const { read, orgId, nowMs } = deps
  return async (namespaces, { seconds, to }) => {
    const query = read(namespaces)
    const bucketSeconds = bucketFor(seconds)
    const end = to === undefined ? nowMs() : Date.parse(to)
    const span = spanOf(end, seconds, bucketSeconds)
    const top = { from: span.from, to: span.to, limit: TOP }
    const [{ buckets, latency }, denials, agents] = await Promise.all([
      countByTime(query, orgId, span),
      topDenials(query, orgId, { ...top, limit: TOP * KINDS, limitOfAgent: KINDS }),
      busiestAgents(query, orgId, top),
    ])
    return {
      from: span.from,
      to: span.to,
      bucket_seconds: bucketSeconds,
      buckets: buckets.map(({ time, wouldBlock, p50, p95, p99, ...counts }) => ({
        time: time.toISOString(),
        ...counts,
        would_block: wouldBlock,
        latency_p50_ms: p50,
        latency_p95_ms: p95,
        latency_p99_ms: p99,
      })),
      latency: { p50_ms: latency.p50, p95_ms: latency.p95, p99_ms: latency.p99 },
      denials: denials.map(({ actionType, lastAt, agentCount, ...row }) => ({
        ...row,
        action_type: actionType,
        last_at: lastAt.toISOString(),
        agent_count: agentCount,
      })),
      agents: agents.map(({ lastAt, ...row }) => ({ ...row, last_at: lastAt.toISOString() })),
    }
  }
}

function bucketFor(seconds: number): number {
  return STEPS_S.find((step) => seconds / step <= BUCKETS) ?? 86_400
}

/** Aligns the buckets to whole multiples of their length, so that the bars of a chart do not shift as time passes. */
function spanOf(endMs: number, seconds: number, bucketSeconds: number) {
  const step = bucketSeconds * 1_000
  const toMs = Math.ceil((endMs + 1) / step) * step
  const fromMs = toMs - Math.ceil(seconds / bucketSeconds) * step
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), bucketSeconds }
}
