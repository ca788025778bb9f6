/**
 * Catalogue rows for operations that the provider's published list no longer contains. Official clients still call
 * them, and older instances serve them.
 */
export const DEPRECATED = `
  GET    /orgs/{org}/settings/billing/actions                          org_billing.get_actions         read  low
  GET    /orgs/{org}/settings/billing/packages                         org_billing.get_packages        read  low
  GET    /orgs/{org}/settings/billing/shared-storage                   org_billing.get_shared_storage  read  low
  GET    /users/{username}/settings/billing/actions                    user_billing.get_actions        read  low
  GET    /users/{username}/settings/billing/packages                   user_billing.get_packages       read  low
  GET    /users/{username}/settings/billing/shared-storage             user_billing.get_shared_storage read  low
  GET    /orgs/{org}/copilot/metrics                                   copilot_metrics.list            read  low
  GET    /orgs/{org}/team/{team_slug}/copilot/metrics                  copilot_metrics.list            read  low
  GET    /organizations/{org}/dependabot/repository-access             org_dependabot_access.get       read  low
  PATCH  /organizations/{org}/dependabot/repository-access             org_dependabot_access.update    write high @same
  PUT    /organizations/{org}/dependabot/repository-access/default-level  org_dependabot_access.set_default_level write high @same
  GET    /organizations/{org}/org-properties/values                    org_property.list_values        read  low
  PATCH  /organizations/{org}/org-properties/values                    org_property.set_values         write high properties

  GET    /orgs/{org}/teams/{team_slug}/discussions                     team_discussion.list            read  low
  POST   /orgs/{org}/teams/{team_slug}/discussions                     team_discussion.create          write low    title,body,private
  GET    /orgs/{org}/teams/{team_slug}/discussions/{discussion_number} team_discussion.get             read  low
  PATCH  /orgs/{org}/teams/{team_slug}/discussions/{discussion_number} team_discussion.update          write low    title,body
  DELETE /orgs/{org}/teams/{team_slug}/discussions/{discussion_number} team_discussion.delete          write medium
  GET    /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments  team_discussion_comment.list   read  low
  POST   /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments  team_discussion_comment.create write low body
  GET    /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}  team_discussion_comment.get    read  low
  PATCH  /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}  team_discussion_comment.update write low body
  DELETE /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}  team_discussion_comment.delete write medium
  GET    /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/reactions                reaction.list   read  low
  POST   /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/reactions                reaction.create write low content @same
  DELETE /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/reactions/{reaction_id}  reaction.delete write low @same
  GET    /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}/reactions                reaction.list   read  low
  POST   /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}/reactions                reaction.create write low content @same
  DELETE /orgs/{org}/teams/{team_slug}/discussions/{discussion_number}/comments/{comment_number}/reactions/{reaction_id}  reaction.delete write low @same
`
