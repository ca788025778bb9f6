import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReplayReply } from '../../../../core/wire/policies.ts'
import { call } from '../../api/client.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import type { PolicyDraft } from './draft.ts'

const LIMIT = 500
const SHOWN = 50

/** Shows how the decisions on recent requests would change with the edited policy. */
export function Replay({
  draft,
  policyId,
}: {
  readonly draft: PolicyDraft
  readonly policyId: string | null
}) {
  const [answer, setAnswer] = useState<{ readonly to: PolicyDraft; readonly reply: ReplayReply } | null>(null)
  const run = useMutation(async () => {
    const { policyYaml, enabled, priority, mode } = draft
    const body = { policyYaml, enabled, priority, mode, limit: LIMIT }
    const reply = await call('POST /api/dashboard/policies/replay', {
      body: policyId === null ? body : { ...body, policy_id: policyId },
    })
    setAnswer({ to: draft, reply })
  })
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Decides the latest {LIMIT} requests again under the current rules, with and without this text. Bodies
        are not recorded, so conditions on parameters of bodies do not match.
      </Text>
      <Group gap="sm">
        <Button
          variant="default"
          size="xs"
          onClick={() => run.run()}
          loading={run.isBusy}
          leftSection={<Icon name="play" size={14} />}
        >
          Replay recent traffic
        </Button>
        {answer !== null && answer.to !== draft ? (
          <Text size="sm" c="dimmed">
            The text has changed since this replay. Replay again to see its effect.
          </Text>
        ) : null}
      </Group>
      {run.error === null ? null : <ErrorNote error={run.error} />}
      <div aria-live="polite">{answer === null ? null : <Answer reply={answer.reply} />}</div>
    </Stack>
  )
}

function Answer({ reply: { considered, skipped, changes } }: { readonly reply: ReplayReply }) {
  const left =
    skipped === 0
      ? ''
      : ` ${skipped} ${skipped === 1 ? 'was' : 'were'} skipped: the agent or the connector no longer exists.`
  if (considered === 0) {
    return <Text size="sm">No recent requests to replay.{left}</Text>
  }
  return (
    <Stack gap="sm">
      <Text size="sm" fw={600}>
        {changes.length === 0
          ? `None of ${considered} requests would be decided differently.`
          : `${changes.length} of ${considered} requests would be decided differently.`}
        {left}
      </Text>
      <ul className="plain-list" aria-label="Changed decisions">
        {changes.slice(0, SHOWN).map((change) => (
          <Change key={change.record_id} change={change} />
        ))}
      </ul>
      {changes.length > SHOWN ? (
        <Text size="sm" c="dimmed">
          and {changes.length - SHOWN} more
        </Text>
      ) : null}
    </Stack>
  )
}

function Change({ change }: { readonly change: ReplayReply['changes'][number] }) {
  const { before, after } = change
  return (
    <li className="list-line">
      <Group gap="xs">
        <DecisionBadge decision={before.decision} note={noteOf(before)} />
        <span aria-hidden="true">→</span>
        <DecisionBadge decision={after.decision} note={noteOf(after)} />
        <Anchor href={hrefOf('traffic', { record: change.record_id })}>
          <ActionName type={change.action_type} />
        </Anchor>
      </Group>
      <Text size="sm" c="dimmed" component="div">
        <UntrustedText text={change.agent} />, <TimeText at={change.time} />:{' '}
        <UntrustedText text={after.reason} />
      </Text>
    </li>
  )
}

const WOULD = { ALLOW: 'would allow', HOLD: 'would hold', DENY: 'would deny' } as const

function noteOf({ decision, would }: ReplayReply['changes'][number]['after']): string | null {
  return decision === would ? null : WOULD[would]
}
