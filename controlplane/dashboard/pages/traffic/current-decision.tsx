import { Anchor, Text } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { ExplainResult } from '../../components/decision/explain-result.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'

/**
 * Explains how the current rules decide the recorded request. The rules may have changed since the request was
 * recorded.
 */
export function CurrentDecision({ record }: { readonly record: TrafficRecord }) {
  const { method, host, path, agent, gateway } = record
  const isKnown = host !== null && agent !== null
  // A refused CONNECT contains no request, so the page explains a GET of the same host instead.
  const explained = method === 'CONNECT' ? 'GET' : method
  const input = { method: explained, url: `https://${host ?? ''}${path ?? '/'}`, agent: agent ?? '', gateway }
  const answer = useResource('GET /api/dashboard/explain', isKnown ? { query: input } : null)
  if (!isKnown) return null
  const { gateway: _gateway, ...shared } = input
  return (
    <Panel
      title="Decision under the current rules"
      aside={
        <Anchor href={hrefOf('explain', shared)} size="sm">
          Open in Explain
        </Anchor>
      }
    >
      <Loaded of={answer}>
        {(reply) => (
          <>
            <VersionNote then={record.snapshot_version} now={reply.snapshot_version} />
            <ExplainResult reply={reply} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function VersionNote({ then, now }: { readonly then: number | null; readonly now: number }) {
  const text =
    then === now
      ? 'The configuration has not changed since this request.'
      : `The configuration has changed since this request, from version ${then ?? 'unknown'} to ${now}.`
  return (
    <Text size="sm" c="dimmed" mb="xs">
      {text} Bodies are not recorded, so a request whose action depends on the body is decided as the
      strictest of its possible actions.
    </Text>
  )
}
