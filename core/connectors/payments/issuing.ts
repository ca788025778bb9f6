/** Catalogue rows for issued cards and their transactions. */
export const ISSUING = `
  GET    /v1/issuing/authorizations               issuing_authorization.list            read  low
  GET    /v1/issuing/authorizations/{id}          issuing_authorization.get             read  low
  POST   /v1/issuing/authorizations/{id}          issuing_authorization.update          write medium
  POST   /v1/issuing/authorizations/{id}/approve  issuing_authorization.approve         write high   amount +financial_impact
  POST   /v1/issuing/authorizations/{id}/decline  issuing_authorization.decline         write medium
  GET    /v1/issuing/cardholders                  issuing_cardholder.list               read  low
  POST   /v1/issuing/cardholders                  issuing_cardholder.create             write medium
  GET    /v1/issuing/cardholders/{id}             issuing_cardholder.get                read  low
  POST   /v1/issuing/cardholders/{id}             issuing_cardholder.update             write high
  GET    /v1/issuing/cards                        issuing_card.list                     read  low
  POST   /v1/issuing/cards                        issuing_card.create                   write high   cardholder,currency,type +financial_impact
  GET    /v1/issuing/cards/{id}                   issuing_card.get                      read  low
  POST   /v1/issuing/cards/{id}                   issuing_card.update                   write high   status,spending_controls
  GET    /v1/issuing/disputes                     issuing_dispute.list                  read  low
  POST   /v1/issuing/disputes                     issuing_dispute.create                write medium
  GET    /v1/issuing/disputes/{id}                issuing_dispute.get                   read  low
  POST   /v1/issuing/disputes/{id}                issuing_dispute.update                write medium
  POST   /v1/issuing/disputes/{id}/submit         issuing_dispute.submit                write medium
  GET    /v1/issuing/personalization_designs      issuing_personalization_design.list   read  low
  POST   /v1/issuing/personalization_designs      issuing_personalization_design.create write medium
  GET    /v1/issuing/personalization_designs/{id} issuing_personalization_design.get    read  low
  POST   /v1/issuing/personalization_designs/{id} issuing_personalization_design.update write medium
  GET    /v1/issuing/physical_bundles             issuing_physical_bundle.list          read  low
  GET    /v1/issuing/physical_bundles/{id}        issuing_physical_bundle.get           read  low
  GET    /v1/issuing/tokens                       issuing_token.list                    read  low
  GET    /v1/issuing/tokens/{id}                  issuing_token.get                     read  low
  POST   /v1/issuing/tokens/{id}                  issuing_token.update                  write high
  GET    /v1/issuing/transactions                 issuing_transaction.list              read  low
  GET    /v1/issuing/transactions/{id}            issuing_transaction.get               read  low
  POST   /v1/issuing/transactions/{id}            issuing_transaction.update            write medium
`
