import { Alert, Button } from '@mantine/core'
import type { ApiError } from '../../api/api-error.ts'
import { ManifestEditNote } from '../manifest/manifest-edit.tsx'
import { Icon } from './icon.tsx'

/** What went wrong in the server's own sentence, and the way on. */
export function ErrorNote(props: {
  readonly error: ApiError
  readonly title?: string
  readonly onRetry?: () => void
  readonly retryLabel?: string
}) {
  const { error, title = titleOf(error.status), onRetry, retryLabel = 'Try again' } = props
  if (error.edit !== null) return <ManifestEditNote edit={error.edit} message={error.message} />
  return (
    <Alert
      color="red"
      variant="outline"
      title={title}
      icon={<Icon name="warning" />}
      role="alert"
      className="note note-error"
    >
      {error.message}
      {onRetry === undefined ? null : (
        <div>
          <Button mt="xs" size="compact-sm" variant="default" onClick={onRetry}>
            {retryLabel}
          </Button>
        </div>
      )}
    </Alert>
  )
}

function titleOf(status: number): string {
  if (status === 0) return 'No connection'
  if (status === 403) return 'You may not do this'
  if (status === 404) return 'Not there'
  if (status === 409 || status === 410) return 'Somebody or something was quicker'
  if (status === 429) return 'Too many attempts'
  if (status >= 500) return 'The control plane has a problem'
  return 'This did not work'
}
