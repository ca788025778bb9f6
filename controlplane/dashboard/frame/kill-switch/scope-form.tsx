import { Autocomplete, Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { useResource } from '../../live/use-resource.ts'
import { instanceNames, SCOPE_KINDS, type ScopeKind, scopeText } from './scope.ts'

export type KillSwitchRequest = { readonly scope: string; readonly reason: string }

/**
 * Renders the form of the kill switch dialog: scope and optional reason. The button of the form activates the kill
 * switch.
 */
export function ScopeForm(props: {
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly onActivate: (request: KillSwitchRequest) => void
}) {
  const { isBusy, error, onActivate } = props
  const [kind, setKind] = useState<ScopeKind>('all')
  const [name, setName] = useState('')
  const [reason, setReason] = useState('')
  const instances = useInstanceNames()
  const scopeNames = useScopeNames(kind)
  const names = kind === 'claim' || kind === 'pod' ? [...instances[kind]] : scopeNames
  const kinds = SCOPE_KINDS.filter(
    ({ value }) => (value !== 'claim' && value !== 'pod') || instances[value].length > 0,
  )
  const isReady = kind === 'all' || name.trim() !== ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onActivate({ scope: scopeText(kind, name.trim()), reason: reason.trim() })
      }}
    >
      <Stack gap="md">
        <Radio.Group label="Scope" value={kind} onChange={(value) => setKind(value as ScopeKind)}>
          <Group gap="sm" mt={6}>
            {kinds.map(({ value, label }) => (
              <Radio key={value} value={value} label={label} />
            ))}
          </Group>
        </Radio.Group>
        {kind === 'all' ? null : (
          <Autocomplete label={`Name of the ${kind}`} value={name} onChange={setName} data={names} required />
        )}
        <TextInput
          label="Reason (optional)"
          description="Agents receive the reason and your e-mail address with every refusal. The audit log keeps them."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={800}
        />
        <Text size="sm" c="dimmed">
          Within moments gateways refuse new requests, end held requests, and close open streams and tunnels
          in this scope. The kill switch stays active until an admin deactivates it.
        </Text>
        {error === null ? null : <ErrorNote error={error} />}
        <Group justify="flex-end">
          <Button
            type="submit"
            className="danger"
            disabled={!isReady}
            loading={isBusy}
            // Ignores a repeated key, because the user may still hold down the Enter key that opened the dialog.
            onKeyDown={(event) => (event.repeat ? event.preventDefault() : undefined)}
            data-autofocus
          >
            Activate the kill switch
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/**
 * Returns the names of the running instances. Returns none outside a cluster, and for a user who may not read agents.
 */
function useInstanceNames() {
  const { data } = useResource('GET /api/dashboard/agents', {})
  return instanceNames(data ?? { agents: [] })
}

function useScopeNames(kind: ScopeKind): string[] {
  const isNamed = kind !== 'all'
  const overview = useResource('GET /api/dashboard/overview', isNamed ? {} : null)
  const activity = useResource('GET /api/dashboard/activity', isNamed ? { query: { seconds: 86_400 } } : null)
  const catalogue = useResource('GET /api/dashboard/catalogue', kind === 'connector' ? {} : null)
  if (kind === 'gateway') return overview.data?.gateways.map((gateway) => gateway.name) ?? []
  if (kind === 'agent') return activity.data?.agents.map(({ agent }) => agent) ?? []
  return catalogue.data?.connectors.map(({ type }) => type) ?? []
}
