import { Autocomplete } from '@mantine/core'
import { useResource } from '../../live/use-resource.ts'

/** Renders an input for the name of an agent. The input suggests agents that were active in the last seven days. */
export function AgentInput({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (text: string) => void
}) {
  const activity = useResource('GET /api/dashboard/activity', { query: { seconds: 604_800 } })
  const names = activity.data?.agents.map(({ agent }) => agent) ?? []
  return <Autocomplete label="Agent" value={value} onChange={onChange} data={names} required />
}
