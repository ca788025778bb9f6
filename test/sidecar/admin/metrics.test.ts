import { describe, expect, test } from 'vitest'
import { IDLE_GAUGES } from '../../../scripts/metrics/idle-gauges.ts'
import { createMetrics, type Gauges } from '../../../sidecar/metrics.ts'
import { trafficRecord } from '../journal/traffic-record.ts'

const GAUGES: Gauges = {
  ...IDLE_GAUGES,
  activeByAgent: new Map([['bot', 2]]),
  approvalsPending: 3,
  connectors: 4,
  uptimeSeconds: 5,
  journal: { state: 'ok', bytes: 300, limitBytes: 1_000, pending: 2, lost: 1 },
  capture: { state: 'bypassed', isBypassDetected: true },
  configuration: { version: 7, lostForSeconds: 12.5 },
  certificate: { notBeforeMs: 0, notAfterMs: 90_000, nowMs: 60_000 },
}
const series = (text: string) => text.split('\n').filter((row) => row !== '' && !row.startsWith('#'))

describe('the metrics', () => {
  test('ten thousand tool names create fewer than a thousand series; the rest has the label other', () => {
    const metrics = createMetrics()
    for (let n = 0; n < 10_000; n++) {
      metrics.finished(trafficRecord({ connector: 'mcp', action_type: `mcp.tools.tool_${n}` }), null)
    }
    const rows = series(metrics.scrape(GAUGES))
    expect(rows.length).toBeLessThan(1_000)
    const other = rows.find(
      (row) => row.startsWith('svc_requests_total') && row.includes('action_type="other"'),
    )
    expect(other).toMatch(/ 9800$/)
  })

  test('beyond five hundred agents the label is other', () => {
    const metrics = createMetrics()
    for (let n = 0; n < 600; n++) metrics.finished(trafficRecord({ agent: `a${n}` }), null)
    expect(metrics.scrape(GAUGES)).toMatch(/svc_requests_total\{agent="other",.*\} 100\n/)
  })

  test('every metric of the gateway is there with its labels', () => {
    const metrics = createMetrics()
    metrics.accepted()
    metrics.finished(trafficRecord({ approval_id: 'apv_1' }), null)
    metrics.finished(trafficRecord({ decision: 'DENY', status: 403 }), 'policy')
    metrics.finished(trafficRecord({ decision: 'DENY', status: 429 }), 'rate_limit')
    metrics.finished(trafficRecord({ would: 'HOLD', error_type: '500' }), null)
    const killEntries = [{ scope: 'all', source: 'api', reason: '', since: '' }]
    const rows = series(metrics.scrape({ ...GAUGES, killEntries }))
    const both = 'agent="bot",connector="codehost"'
    for (const row of [
      `svc_requests_total{${both},decision="allow",action_type="codehost.issue.create"} 2`,
      `svc_requests_total{${both},decision="deny",action_type="codehost.issue.create"} 2`,
      `svc_requests_denied_total{${both},reason="policy"} 1`,
      `svc_requests_approved_total{${both}} 1`,
      `svc_would_block_total{${both},outcome="require_approval"} 1`,
      `svc_request_duration_seconds_count{${both}} 4`,
      `svc_proxy_overhead_seconds_bucket{${both},le="+Inf"} 4`,
      'svc_active_connections{agent="bot"} 2',
      'svc_kill_switch_active{scope="all"} 1',
      'svc_approvals_pending 3',
      'svc_connector_errors_total{connector="codehost",error_type="500"} 1',
      'svc_rate_limit_hits_total{agent="bot"} 1',
      'svc_journal_state{state="ok"} 1',
      'svc_journal_bytes 300',
      'svc_journal_limit_bytes 1000',
      'svc_journal_pending_records 2',
      'svc_journal_lost_records_total 1',
      'svc_capture_state{state="bypassed"} 1',
      'svc_capture_state{state="proven"} 0',
      'svc_bypass_detected 1',
      'svc_snapshot_version 7',
      'svc_control_plane_lost_seconds 12.5',
      'svc_certificate_age_seconds{certificate="sidecar"} 60',
      'svc_certificate_remaining_seconds{certificate="sidecar"} 30',
    ]) {
      expect(rows).toContain(row)
    }
    const internal = series(metrics.internal(GAUGES))
    for (const row of ['svc_traffic_total 1', 'svc_traffic_latency_ms_count 4', 'svc_processes_active 1']) {
      expect(internal).toContain(row)
    }
    expect(internal).toContain('svc_connectors_total 4')
    expect(internal).toContain('svc_gateway_uptime_seconds 5')
  })

  test.each([
    ...['permission', 'policy', 'kill_switch', 'unknown_host'],
    ...['approval_denied', 'approval_expired', 'ambiguous', 'not_ready'],
  ] as const)('a refusal because of %s is counted under that reason', (reason) => {
    const metrics = createMetrics()
    metrics.finished(trafficRecord({ decision: 'DENY', status: 403 }), reason)
    const rows = series(metrics.scrape(GAUGES)).filter((row) => row.startsWith('svc_requests_denied_total'))
    expect(rows).toEqual([`svc_requests_denied_total{agent="bot",connector="codehost",reason="${reason}"} 1`])
  })

  test.each(['401', '429', '500', 'timeout', 'connect', 'tls'] as const)(
    'an upstream failure of type %s is counted under that type',
    (error_type) => {
      const metrics = createMetrics()
      metrics.finished(trafficRecord({ error_type }), null)
      const rows = series(metrics.scrape(GAUGES)).filter((row) =>
        row.startsWith('svc_connector_errors_total'),
      )
      expect(rows).toEqual([`svc_connector_errors_total{connector="codehost",error_type="${error_type}"} 1`])
    },
  )

  test('histogram buckets are cumulative and their bounds inclusive', () => {
    const metrics = createMetrics()
    for (const latency_ms of [5, 6, 400_000]) metrics.finished(trafficRecord({ latency_ms }), null)
    const text = metrics.scrape(GAUGES)
    expect(text).toMatch(/svc_request_duration_seconds_bucket\{.*le="0.005"\} 1\n/)
    expect(text).toMatch(/svc_request_duration_seconds_bucket\{.*le="0.01"\} 2\n/)
    expect(text).toMatch(/svc_request_duration_seconds_bucket\{.*le="300"\} 2\n/)
    expect(text).toMatch(/svc_request_duration_seconds_bucket\{.*le="\+Inf"\} 3\n/)
  })

  test('values that agents choose are escaped in labels', () => {
    const metrics = createMetrics()
    metrics.finished(trafficRecord({ agent: 'a"} 1\nevil{x="\\' }), null)
    const row = series(metrics.scrape(GAUGES)).find((line) => line.startsWith('svc_requests_total'))
    expect(row).toContain('agent="a\\"} 1\\nevil{x=\\"\\\\"')
  })
})
