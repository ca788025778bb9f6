import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import type { ProbeReply } from '../../../../core/wire/gateways.ts'
import type { GatewayState } from '../../../../core/wire/overview.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'

/** Renders a test of whether the control plane reaches the gateway at its registered address. */
export function AddressTest({
  gateways,
  name,
}: {
  readonly gateways: readonly GatewayState[]
  readonly name: string
}) {
  const [reply, setReply] = useState<ProbeReply | null>(null)
  const gateway = gateways.find((each) => each.name === name)
  const test = useMutation(async () => {
    const url = `http://${gateway?.host ?? ''}:${gateway?.port ?? 0}`
    setReply(await call('GET /api/dashboard/test-gateway', { query: { url } }))
  })
  if (gateway === undefined) return null
  return (
    <div>
      <Group gap="sm">
        <Button variant="default" size="xs" onClick={() => test.run()} loading={test.isBusy}>
          Test connection
        </Button>
        <Text size="sm" c="dimmed" component="span">
          {gateway.host}:{gateway.port}
        </Text>
        <span role="status">{reply === null ? null : <Result reply={reply} />}</span>
      </Group>
      {test.error === null ? null : <ErrorNote error={test.error} />}
    </div>
  )
}

function Result({ reply }: { readonly reply: ProbeReply }) {
  if (reply.ok) {
    const known =
      reply.connectors.length === 0 ? 'no connectors yet' : `connectors: ${reply.connectors.join(', ')}`
    return <ToneBadge tone="good">Connected, {known}</ToneBadge>
  }
  return (
    <Text size="sm" component="span">
      {reply.error ?? reply.status}
    </Text>
  )
}
