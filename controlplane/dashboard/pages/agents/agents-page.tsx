import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { AgentView } from '../../../../core/wire/agents.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { type Tone, ToneBadge } from '../../components/layout/tone-badge.tsx'
import { SourceBadge } from '../../components/manifest/source-badge.tsx'
import { InstanceLink } from '../../components/text/instance-link.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { AgentRowActions } from './agent-row-actions.tsx'
import { NewAgent } from './new-agent.tsx'

/** A new agent key and the name of its agent. */
export type FreshKey = { readonly agent: string; readonly key: string }

const TONES: Readonly<Record<AgentView['status'], Tone>> = {
  active: 'good',
  suspended: 'wait',
  revoked: 'bad',
}

/** Shows the list of agents with their row actions. */
export function Page() {
  const { may } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  const agents = useResource('GET /api/dashboard/agents', {}, { on: ['config'], everyMs: 30_000 })
  const mayAct = may('agents/update')
  const onKey = (key: FreshKey) => {
    setFresh(key)
    agents.reload()
  }
  return (
    <>
      <PageHead
        title="Agents"
        about="Programs that act on behalf of users. Each agent has a key, a gateway, and a status."
      >
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            New agent
          </Button>
        ) : null}
      </PageHead>
      <Stack gap="md">
        {fresh === null ? null : (
          <SecretOnce
            title={`The key of ${fresh.agent}, shown only once`}
            about="The key cannot be shown again, only replaced. The agent uses the key as its proxy password or as the bearer token of the API."
            label="key"
            secret={fresh.key}
          />
        )}
        <Loaded of={agents}>
          {({ agents: rows }) =>
            rows.length === 0 ? (
              <EmptyState icon="agents" title="No agents">
                Each agent has its own name and key, so that its requests can be identified, limited and
                denied. "New agent" creates both.
              </EmptyState>
            ) : (
              <RowTable
                rows={rows}
                keyOf={({ agent_id }) => agent_id}
                columns={[
                  { head: 'Agent', cell: (agent) => <Name agent={agent} /> },
                  {
                    head: 'Status',
                    isWhole: true,
                    cell: ({ status }) => <ToneBadge tone={TONES[status]}>{status}</ToneBadge>,
                  },
                  { head: 'Environment', isWhole: true, cell: ({ environment }) => environment },
                  {
                    head: 'Gateway',
                    isWhole: true,
                    cell: ({ gateway }) => gateway ?? <span className="dim">none</span>,
                  },
                  { head: 'Running', cell: ({ running }) => <Running running={running} /> },
                  {
                    head: 'Last seen',
                    isWhole: true,
                    cell: ({ last_seen_at }) => <AgoText at={last_seen_at} />,
                  },
                  { head: 'Source', isWhole: true, cell: (agent) => <SourceBadge row={agent} /> },
                ]}
                actions={
                  mayAct
                    ? (agent) => <AgentRowActions agent={agent} onKey={onKey} onDone={agents.reload} />
                    : undefined
                }
              />
            )
          }
        </Loaded>
      </Stack>
      {mayAct ? <NewAgent isOpen={isOpen} onClose={close} onKey={onKey} /> : null}
    </>
  )
}

/** Number of instances that the list names. */
const NAMED = 5

function Running({ running }: Pick<AgentView, 'running'>) {
  if (running === undefined) return <span className="dim">no pods</span>
  const named = running.instances.slice(0, NAMED)
  const others = running.pods - named.length
  return (
    <>
      {named.map((instance) => (
        <Text key={instance.pod_uid} size="sm" component="div">
          <InstanceLink of={instance} />
        </Text>
      ))}
      {others > 0 ? <Text size="sm">and {others} more</Text> : null}
    </>
  )
}

function Name({ agent }: { readonly agent: AgentView }) {
  const { name, runtime, api_key_prefix: prefix, status } = agent
  return (
    <>
      <Text fw={600} component="div">
        <UntrustedText text={name} />
      </Text>
      <Text size="sm" c="dimmed" component="div">
        {runtime === '' ? null : (
          <>
            <UntrustedText text={runtime} />,{' '}
          </>
        )}
        {prefix === null ? 'no key' : <span className="mono">{prefix}…</span>}
      </Text>
      {status === 'revoked' ? null : (
        <Text size="sm">
          <Anchor inherit underline="always" href={hrefOf('permissions', { agent: name })}>
            Its permissions
          </Anchor>
          {', '}
          <Anchor inherit underline="always" href={hrefOf('traffic', { agent: name })}>
            its traffic
          </Anchor>
        </Text>
      )}
    </>
  )
}
