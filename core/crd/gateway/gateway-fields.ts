import * as z from 'zod'
import { LIMITS } from '../../wire/schema/limits.ts'
import { described } from '../described.ts'
import { host, hostAndPort } from '../fields.ts'

export const EnforcementLevelSchema = z.enum(['monitor', 'enforce_high_risk', 'full_enforce'])
export const RefusalDetail = z.enum(['full', 'brief'])

const Egress = z.strictObject({
  unmatchedHosts: described(
    z.enum(['deny', 'tunnel']).default('deny'),
    'Treatment of hosts that neither a Connector nor `allowedHosts` covers. `deny` refuses them, `tunnel` forwards the connection without reading it.',
    'deny',
  ),
  allowedHosts: described(
    z.array(hostAndPort).max(256).default([]),
    'Hosts that agents may reach without a Connector. The gateway does not read these connections and adds no credential. An entry covers port 443, or the port that it names; `*.` covers all subdomains.',
    ['pypi.org', '*.example.com', 'git.example.com:8443'],
  ),
  tcp: described(
    z
      .array(
        z.strictObject({
          host: described(host, 'Host name or address of the server.', 'db.example.com'),
          port: described(z.int().min(1).max(65535), 'Port of the server.', 5432),
          allowPrivateAddresses: described(
            z.boolean().default(false),
            'Whether the name may resolve to a private address, for example of a database in the same cluster.',
            true,
          ),
        }),
      )
      .max(64)
      .default([]),
    'Servers that agents may reach over TCP with any protocol, such as databases.',
    [{ host: 'db.example.com', port: 5432 }],
  ),
})

const FailurePolicy = z.strictObject({
  highRiskAfterSeconds: described(
    z.int().min(0).max(86_400).default(30),
    'Seconds without a heartbeat of the control plane after which actions of high risk, unmapped actions and actions that need an approval are denied. At most `writesAfterSeconds`.',
    30,
  ),
  writesAfterSeconds: described(
    z.int().min(0).max(86_400).default(120),
    'Seconds without a heartbeat of the control plane after which all writes are denied. At most `everythingAfterSeconds`.',
    120,
  ),
  everythingAfterSeconds: described(
    z.int().min(0).max(86_400).default(600),
    'Seconds without a heartbeat of the control plane after which every action is denied.',
    600,
  ),
})

/**
 * Fields of a Gateway that its gateways receive unchanged. They are not in `gateway-spec.ts`, because a gateway
 * reads no manifests and would keep the schemas of all other fields in memory.
 */
export const GATEWAY_FIELDS = {
  egress: described(Egress.prefault({}), 'Traffic to hosts that no Connector owns.'),
  rateLimit: described(
    z
      .strictObject({
        requestsPerMinute: described(
          z.int().min(1).max(1_000_000).default(120),
          'Requests of one agent in a minute, over all gateway processes together. Each SandboxClaim of an agent has a limit of its own. Further requests are refused with 429.',
          600,
        ),
      })
      .prefault({}),
    'Rate limit of every agent of the Gateway.',
  ),
  maxActionsPerRequest: described(
    z.int().min(1).max(1_024).default(LIMITS.actionsPerRequest),
    'Actions in one request, such as the calls of an MCP batch. A request with more is refused with 413.',
    64,
  ),
  approvals: described(
    z
      .strictObject({
        timeoutSeconds: described(
          z.int().min(5).max(86_400).default(300),
          'Seconds that a held request waits for an approval. Then the approval expires and the request is refused.',
          900,
        ),
        maxPendingPerAgent: described(
          z.int().min(1).max(1_000).default(20),
          'Pending approvals of one agent. Further requests that need an approval are refused with 429.',
          20,
        ),
      })
      .prefault({}),
    'Limits of held requests.',
  ),
  failurePolicy: described(
    FailurePolicy.prefault({}),
    'Stages in which a gateway denies more requests while it has no connection to the control plane.',
  ),
  audit: described(
    z.enum(['async', 'sync']).default('async'),
    'When the record that the gateway writes before it forwards a request counts as stored. `async`: once the record is in the page cache, which survives a crash of the gateway process. `sync`: once the record is on the disk, which survives a power loss and delays each request by 1 to 10 ms.',
    'sync',
  ),
}
