import { Alert, Group, Stack, Text } from '@mantine/core'
import type { PolicyCheckReply, PolicyProblem } from '../../../../core/wire/governance.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Outline } from '../../components/layout/loading.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import type { Check } from './use-check.ts'

/** Mistakes with their lines, then the tests, then what is legal and probably not meant. */
export function CheckResult({ check: { reply, error } }: { readonly check: Check }) {
  if (error !== null) return <ErrorNote error={error} />
  if (reply === null) return <Outline />
  return (
    <Stack gap="sm" aria-live="polite">
      {reply.problems.length === 0 ? null : <Problems problems={reply.problems} />}
      {reply.problems.length > 0 && reply.tests.length === 0 ? (
        <Text size="sm" c="dimmed">
          Its tests run once the text can be read.
        </Text>
      ) : (
        <Tests tests={reply.tests} />
      )}
      {reply.warnings.map((warning) => (
        <Alert
          key={warning}
          color="orange"
          variant="outline"
          icon={<Icon name="warning" />}
          title="Is this meant?"
          className="note"
        >
          <UntrustedText text={warning} />
        </Alert>
      ))}
    </Stack>
  )
}

function Problems({ problems }: { readonly problems: readonly PolicyProblem[] }) {
  return (
    <ul className="plain-list" aria-label="Problems">
      {problems.map(({ line, message }) => (
        <li key={`${line} ${message}`} className="list-line">
          <Group gap="xs" align="flex-start" wrap="nowrap">
            <ToneBadge tone="bad">{line === null ? 'Text' : `Line ${line}`}</ToneBadge>
            <Text size="sm" component="div" className="min-0">
              <UntrustedText text={message} />
            </Text>
          </Group>
        </li>
      ))}
    </ul>
  )
}

function Tests({ tests }: { readonly tests: PolicyCheckReply['tests'] }) {
  if (tests.length === 0) {
    return (
      <EmptyState icon="policies" title="It has no tests">
        Say under "tests" what should come out for an action. They run with every change, and a text whose
        tests fail is never put in force.
      </EmptyState>
    )
  }
  return (
    <ul className="plain-list" aria-label="Tests">
      {tests.map(({ name, passed, failure }) => (
        <li key={name} className="list-line">
          <Group gap="xs" align="flex-start" wrap="nowrap">
            <ToneBadge tone={passed ? 'good' : 'bad'}>{passed ? 'Passes' : 'Fails'}</ToneBadge>
            <div className="min-0">
              <Text size="sm" component="div">
                <UntrustedText text={name} />
              </Text>
              {failure === undefined ? null : (
                <Text size="sm" c="dimmed" component="div">
                  <UntrustedText text={failure} />
                </Text>
              )}
            </div>
          </Group>
        </li>
      ))}
    </ul>
  )
}
