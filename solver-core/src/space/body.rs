//! The stored form of an index: JSON, one variant a block kind. It lies inside the job's record, so it
//! is versioned, checksummed and fingerprinted there.

use super::SpaceError;
use super::chain::ChainDef;
use super::product::ProductDef;
use super::sparse::SparseDef;
use super::table::TableDef;
use serde::{Deserialize, Serialize};

/// The stored body of every kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Body {
    Chain(ChainDef),
    Product(ProductDef),
    Table(TableDef),
    Sparse(SparseDef),
}

impl Body {
    pub fn encode(&self) -> Result<Vec<u8>, SpaceError> {
        serde_json::to_vec(self).map_err(|e| SpaceError::Unsupported(e.to_string()))
    }

    pub fn decode(bytes: &[u8]) -> Result<Body, SpaceError> {
        serde_json::from_slice(bytes).map_err(|e| SpaceError::Damaged(e.to_string()))
    }
}
