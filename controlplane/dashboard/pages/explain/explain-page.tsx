import { SegmentedControl, Stack } from '@mantine/core'
import { PageHead } from '../../components/layout/page-head.tsx'
import { useQueryState } from '../../routing/use-page-location.ts'
import { ActionSpecForm } from './action-spec-form.tsx'
import { RequestForm } from './request-form.tsx'

/** "What would happen if?", answered with the very code that decides; nothing is sent. */
export function Page() {
  const [query, change] = useQueryState()
  const isSpec = query['mode'] === 'action'
  return (
    <>
      <PageHead
        title="Explain"
        about="What would be decided, and which rule says so. Nothing is sent or stored."
      >
        <SegmentedControl
          aria-label="Kind of question"
          value={isSpec ? 'action' : 'request'}
          onChange={(mode) => change({ mode: mode === 'action' ? mode : null })}
          data={[
            { value: 'request', label: 'A request' },
            { value: 'action', label: 'An action' },
          ]}
        />
      </PageHead>
      <Stack gap="md">{isSpec ? <ActionSpecForm /> : <RequestForm />}</Stack>
    </>
  )
}
