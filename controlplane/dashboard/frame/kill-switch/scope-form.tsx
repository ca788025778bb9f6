import { Autocomplete, Button, Group, Radio, Stack, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useResource } from '../../live/use-resource.ts'
import { SCOPE_KINDS, type ScopeKind, scopeText } from './scope.ts'

export type KillSwitchRequest = { readonly scope: string; readonly reason: string }

/** First step of the kill switch dialog: the user enters scope and reason. */
export function ScopeForm({ onNext }: { readonly onNext: (request: KillSwitchRequest) => void }) {
  const [kind, setKind] = useState<ScopeKind>('all')
  const [name, setName] = useState('')
  const [reason, setReason] = useState('')
  const names = useScopeNames(kind)
  const isReady = reason.trim() !== '' && (kind === 'all' || name.trim() !== '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onNext({ scope: scopeText(kind, name.trim()), reason: reason.trim() })
      }}
    >
      <Stack gap="md">
        <Radio.Group label="Scope" value={kind} onChange={(value) => setKind(value as ScopeKind)}>
          <Group gap="sm" mt={6}>
            {SCOPE_KINDS.map(({ value, label }) => (
              <Radio key={value} value={value} label={label} />
            ))}
          </Group>
        </Radio.Group>
        {kind === 'all' ? null : (
          <Autocomplete label={`Name of the ${kind}`} value={name} onChange={setName} data={names} required />
        )}
        <Textarea
          label="Reason"
          description="Agents receive it with every refusal. The audit log keeps it."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={1_000}
          autosize
          minRows={2}
          required
          data-autofocus
        />
        <Group justify="flex-end">
          <Button type="submit" className="danger" disabled={!isReady}>
            Continue
          </Button>
        </Group>
      </Stack>
    </form>
  )
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
