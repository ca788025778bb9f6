import { Anchor, Text } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { ExplainResult } from '../../components/decision/explain-result.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'

/** The same request against the rules of this moment: after a change of rules the answer may be another. */
export function CurrentDecision({ record }: { readonly record: TrafficRecord }) {
  const { method, host, path, agent, gateway } = record
  const isKnown = host !== null && agent !== null
  // A tunnel that was refused before anything was asked in it: what would a simple request have been told?
  const asked = method === 'CONNECT' ? 'GET' : method
  const question = { method: asked, url: `https://${host ?? ''}${path ?? '/'}`, agent: agent ?? '', gateway }
  const answer = useResource('GET /api/dashboard/explain', isKnown ? { query: question } : null)
  if (!isKnown) return null
  const { gateway: _gateway, ...shared } = question
  return (
    <Panel
      title="What the rules say now"
      aside={
        <Anchor href={hrefOf('explain', shared)} size="sm">
          Try variations
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
      ? 'The rules have not changed since.'
      : `The rules have changed since: version ${then ?? 'unknown'} then, ${now} now.`
  return (
    <Text size="sm" c="dimmed" mb="xs">
      {text} Without its body, a request that the body names may be judged as the strictest of what it can be.
    </Text>
  )
}
