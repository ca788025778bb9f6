import { Button, Group, Select, SimpleGrid, TextInput } from '@mantine/core'
import { useDebouncedCallback, useDisclosure, useMediaQuery } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { EVENT_TYPES, eventTitle } from '../../labels/event-labels.tsx'

type Props = {
  readonly query: Readonly<Record<string, string>>
  readonly agents: ReadonlyArray<{ readonly value: string; readonly label: string }>
  readonly onChange: (changes: Readonly<Record<string, string | null>>) => void
  readonly onClear: () => void
}

/**
 * Shows the filters of the audit log. The URL contains the filters, so that users can share a view. On narrow
 * screens, the advanced filters are collapsed.
 */
export function AuditFilters({ query, agents, onChange, onClear }: Props) {
  const isFiltered = Object.keys(query).some((name) => name !== 'action')
  const isWide = useMediaQuery('(min-width: 48em)', true, { getInitialValueInEffect: false })
  const [isOpen, { toggle }] = useDisclosure(Object.keys(query).some((name) => ADVANCED.has(name)))
  return (
    <section aria-label="Filters">
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 5 }} spacing="sm">
        <Search value={query['q'] ?? ''} onChange={(q) => onChange({ q: q || null })} />
        {isWide || isOpen ? <AdvancedFilters query={query} agents={agents} onChange={onChange} /> : null}
      </SimpleGrid>
      <Group gap="xs" mt={isFiltered || !isWide ? 'xs' : 0}>
        {isWide ? null : (
          <Button variant="default" size="xs" onClick={toggle} aria-expanded={isOpen}>
            {isOpen ? 'Fewer filters' : 'More filters'}
          </Button>
        )}
        {isFiltered ? (
          <Button variant="subtle" size="xs" onClick={onClear}>
            Clear filters
          </Button>
        ) : null}
      </Group>
    </section>
  )
}

const ADVANCED: ReadonlySet<string> = new Set(['event_type', 'agent_id', 'from', 'to'])

function AdvancedFilters({ query, agents, onChange }: Omit<Props, 'onClear'>) {
  return (
    <>
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
    </>
  )
}

const DEBOUNCE_MS = 250

function Search({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const notify = useDebouncedCallback(onChange, DEBOUNCE_MS)
  return (
    <TextInput
      type="search"
      label="Search"
      placeholder="Action, id, reason …"
      leftSection={<Icon name="search" size={16} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        notify(event.currentTarget.value)
      }}
    />
  )
}
