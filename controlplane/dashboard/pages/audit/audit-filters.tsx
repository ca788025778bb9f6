import { Button, Group, Select, SimpleGrid, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { EVENT_TYPES, eventTitle } from './event-words.tsx'

type Props = {
  readonly query: Readonly<Record<string, string>>
  readonly agents: ReadonlyArray<{ readonly value: string; readonly label: string }>
  readonly onChange: (changes: Readonly<Record<string, string | null>>) => void
  readonly onClear: () => void
}

/** Every filter is part of the address, so that a view can be shared. */
export function AuditFilters({ query, agents, onChange, onClear }: Props) {
  const isAny = Object.keys(query).some((name) => name !== 'action')
  return (
    <section aria-label="Filters">
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 5 }} spacing="sm">
        <Search value={query['q'] ?? ''} onChange={(q) => onChange({ q: q || null })} />
        <Select
          label="Event"
          placeholder="All"
          data={EVENT_TYPES.map((value) => ({ value, label: eventTitle(value) }))}
          value={query['event_type'] ?? null}
          onChange={(value) => onChange({ event_type: value })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'All events' }}
        />
        <Select
          label="Agent"
          placeholder="All"
          data={[...agents]}
          value={query['agent_id'] ?? null}
          onChange={(value) => onChange({ agent_id: value })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'All agents' }}
        />
        <TextInput
          type="datetime-local"
          label="From"
          value={query['from'] ?? ''}
          onChange={(event) => onChange({ from: event.currentTarget.value || null })}
        />
        <TextInput
          type="datetime-local"
          label="Until"
          value={query['to'] ?? ''}
          onChange={(event) => onChange({ to: event.currentTarget.value || null })}
        />
      </SimpleGrid>
      {isAny ? (
        <Group mt="xs">
          <Button variant="subtle" size="xs" onClick={onClear}>
            Clear the filters
          </Button>
        </Group>
      ) : null}
    </section>
  )
}

const PATIENCE_MS = 250

function Search({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const tell = useDebouncedCallback(onChange, PATIENCE_MS)
  return (
    <TextInput
      type="search"
      label="Search"
      placeholder="Action, id, reason …"
      leftSection={<Icon name="search" size={16} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        tell(event.currentTarget.value)
      }}
    />
  )
}
