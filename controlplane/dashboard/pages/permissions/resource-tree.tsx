import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { EffectiveAction } from '../../../../core/wire/permissions.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { type Tone, ToneBadge } from '../../components/layout/tone-badge.tsx'
import { EffectiveList } from './effective-list.tsx'
import { type ResourceGroup, resourceGroups } from './resource-groups.ts'
import type { ComparedAgent } from './use-compared.ts'

/** Number of actions up to which all resources are open at first, for example after a search. */
const ALL_OPEN = 40

type Props = {
  readonly actions: readonly EffectiveAction[]
  readonly agent: string
  readonly compared: readonly ComparedAgent[]
}

/**
 * Lists actions as a tree. Each resource is one line with its decisions; a click on the line shows the actions of the
 * resource.
 */
export function ResourceTree({ actions, agent, compared }: Props) {
  const groups = resourceGroups(actions, compared)
  const all = groups.map(({ resource }) => resource)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(actions.length <= ALL_OPEN ? all : []))
  const toggle = (resource: string) =>
    setOpen(new Set(open.has(resource) ? [...open].filter((one) => one !== resource) : [...open, resource]))
  return (
    <Stack gap="xs">
      {groups.length < 2 ? null : (
        <div>
          <Button
            size="compact-sm"
            variant="subtle"
            onClick={() => setOpen(new Set(open.size === all.length ? [] : all))}
          >
            {open.size === all.length ? 'Close all resources' : `Open all ${all.length} resources`}
          </Button>
        </div>
      )}
      {groups.map((group) => {
        const isOpen = open.has(group.resource)
        return (
          <div key={group.resource} data-resource={group.resource}>
            <Summary group={group} isOpen={isOpen} onToggle={() => toggle(group.resource)} />
            {isOpen ? <EffectiveList actions={group.actions} agent={agent} compared={compared} /> : null}
          </div>
        )
      })}
    </Stack>
  )
}

const COUNTS: ReadonlyArray<readonly [EffectiveAction['decision'], string, Tone]> = [
  ['ALLOW', 'allowed', 'good'],
  ['HOLD', 'held', 'wait'],
  ['DENY', 'denied', 'bad'],
]

function Summary(props: {
  readonly group: ResourceGroup
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const { group, isOpen, onToggle } = props
  const { resource, actions, counts, differing } = group
  return (
    <button type="button" className="resource" aria-expanded={isOpen} onClick={onToggle}>
      <Icon name={isOpen ? 'down' : 'right'} size={16} />
      <span className="resource-name">
        <ActionName type={resource} />{' '}
        <Text size="sm" c="dimmed" component="span">
          {actions.length} {actions.length === 1 ? 'action' : 'actions'}
        </Text>
      </span>
      <Group gap={6} component="span">
        {COUNTS.map(([decision, label, tone]) =>
          counts[decision] === 0 ? null : (
            <ToneBadge key={decision} tone={tone}>
              {counts[decision] === actions.length ? `all ${label}` : `${counts[decision]} ${label}`}
            </ToneBadge>
          ),
        )}
        {differing === 0 ? null : <ToneBadge tone="quiet">{differing} differ</ToneBadge>}
      </Group>
    </button>
  )
}
